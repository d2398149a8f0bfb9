//! What does a program in the cage get when it looks up a name?
//!
//! An invented address if the launcher allows the name, "no such name" if not. The launcher is asked each time,
//! so it also knows each time. `localhost` is 127.0.0.1 without asking: whether a port of it leads out is decided at the
//! connection. A name under it is asked for, and is the cage itself where the launcher says no. Questions are hostile
//! input: only the header and one question are parsed, by hickory, everything after it (EDNS among it) is left unread,
//! and one question is answered after the other, so that a flood of them waits in the kernel's socket and nowhere else.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use hickory_proto::op::{Header, Message, MessageType, Metadata, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable as _, BinDecoder};
use pinfold_init::HostName;
use pinfold_init::message;
use pinfold_init::mux::{Opener, Stream};
use pinfold_init::protocol::{Answer, Asking, Question};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use crate::addresses::Addresses;

/// Longest question that is looked at. A name has 255 bytes; the rest is room for EDNS options.
const MAX_QUESTION: usize = 4096;

/// How long an answer may be kept, in seconds. The address never changes, but a rule may.
const TTL: u32 = 5;

/// TCP connections at once, and how long one may be silent.
const MAX_TCP: usize = 16;
const SILENT: Duration = Duration::from_secs(5);

/// How often a free port is looked for that is free for both UDP and TCP.
const TRIES: usize = 16;

/// Answers on UDP and TCP of 127.0.0.1; port 0 takes a free one. Returns the port.
pub async fn serve(port: u16, opener: Opener, addresses: Arc<Addresses>) -> io::Result<u16> {
    let mut tries = if port == 0 { TRIES } else { 1 };
    let (udp, tcp, port) = loop {
        tries -= 1;
        match bind(port).await {
            Ok(bound) => break bound,
            Err(_) if tries > 0 => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("DNS on port {port}: {error}"))),
        }
    };
    let resolver = Arc::new(Resolver { asker: Mutex::new(Asker { opener, stream: None }), addresses });
    tokio::spawn(serve_udp(udp, resolver.clone()));
    tokio::spawn(serve_tcp(tcp, resolver));
    Ok(port)
}

async fn bind(port: u16) -> io::Result<(UdpSocket, TcpListener, u16)> {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = udp.local_addr()?.port();
    Ok((udp, TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?, port))
}

async fn serve_udp(socket: UdpSocket, resolver: Arc<Resolver>) {
    let mut packet = vec![0; MAX_QUESTION];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut packet).await else { continue };
        if let Some(answer) = resolver.answer(&packet[..length]).await {
            // Whoever asked may be gone.
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, resolver: Arc<Resolver>) {
    let room = Arc::new(Semaphore::new(MAX_TCP));
    loop {
        // Taken first: further connections wait in the kernel's queue.
        let Ok(room) = room.clone().acquire_owned().await else { return };
        let Ok((connection, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let resolver = resolver.clone();
        tokio::spawn(async move {
            // A question that is not one ends the connection, silence too.
            let _ = answer_tcp(connection, &resolver).await;
            drop(room);
        });
    }
}

/// RFC 1035 §4.2.2: two bytes of length before each message.
async fn answer_tcp(mut connection: TcpStream, resolver: &Resolver) -> io::Result<()> {
    loop {
        let question = async {
            let length = usize::from(connection.read_u16().await?);
            if length > MAX_QUESTION {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut question = vec![0; length];
            connection.read_exact(&mut question).await?;
            Ok::<_, io::Error>(question)
        };
        let question = timeout(SILENT, question).await.map_err(io::Error::from)??;
        let answer = resolver.answer(&question).await.ok_or(io::ErrorKind::InvalidData)?;
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let mut framed = length.to_be_bytes().to_vec();
        framed.extend_from_slice(&answer);
        timeout(SILENT, connection.write_all(&framed)).await.map_err(io::Error::from)??;
    }
}

struct Resolver {
    asker: Mutex<Asker>,
    addresses: Arc<Addresses>,
}

/// Asks the launcher, one question after the other on one stream.
struct Asker {
    opener: Opener,
    stream: Option<Stream>,
}

impl Asker {
    async fn ask(&mut self, name: HostName) -> io::Result<bool> {
        // Taken away while it is used: a stream on which something went wrong is not used again.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let mut stream = self.opener.open().await.map_err(io::Error::other)?;
                message::write(&mut stream, &Asking::Names).await?;
                stream
            }
        };
        message::write(&mut stream, &Question { name }).await?;
        let Answer { allowed } = message::read(&mut stream, 64).await.map_err(io::Error::other)?;
        self.stream = Some(stream);
        Ok(allowed)
    }
}

impl Resolver {
    /// The answer to a packet; none to one that is no question at all.
    async fn answer(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let (metadata, query) = match parse(packet)? {
            Ok(question) => question,
            Err(refusal) => return refusal.to_vec().ok(),
        };
        let (code, address) = match classify(&query) {
            Kind::Nowhere => (ResponseCode::NXDomain, None),
            Kind::Host(name) => self.host(name).await,
            Kind::Localhost => (ResponseCode::NoError, Some(Ipv4Addr::LOCALHOST)),
            Kind::UnderLocalhost(name) => match self.host(name).await {
                (ResponseCode::NXDomain, _) => (ResponseCode::NoError, Some(Ipv4Addr::LOCALHOST)),
                allowed => allowed,
            },
        };
        reply(&metadata, query, code, address).to_vec().ok()
    }

    async fn host(&self, name: HostName) -> (ResponseCode, Option<Ipv4Addr>) {
        match self.asker.lock().await.ask(name.clone()).await {
            Ok(true) => match self.addresses.of(&name) {
                Some(address) => (ResponseCode::NoError, Some(address)),
                None => (ResponseCode::ServFail, None),
            },
            Ok(false) => (ResponseCode::NXDomain, None),
            Err(_) => (ResponseCode::ServFail, None),
        }
    }
}

enum Kind {
    /// Loopback (RFC 6761 §6.3).
    Localhost,
    /// The cage itself (RFC 6761 §6.3), unless the launcher allows it.
    UnderLocalhost(HostName),
    /// No name that a rule could allow: not a host name, or a reverse look-up.
    Nowhere,
    /// The launcher decides.
    Host(HostName),
}

fn classify(query: &Query) -> Kind {
    match host_name(&query.name) {
        Some(name) if name.as_str() == "localhost" => Kind::Localhost,
        Some(name) if name.as_str().ends_with(".localhost") => Kind::UnderLocalhost(name),
        Some(name) if !name.as_str().ends_with(".arpa") => Kind::Host(name),
        _ => Kind::Nowhere,
    }
}

/// From the raw labels: hickory's text form escapes bytes, and a label may hold a dot.
fn host_name(name: &Name) -> Option<HostName> {
    let mut text = String::new();
    for label in name.iter() {
        let label = std::str::from_utf8(label).ok().filter(|label| !label.contains('.'))?;
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(label);
    }
    text.parse().ok()
}

/// The one question of a packet, or how it is refused; none if it is not even a header of a question.
fn parse(packet: &[u8]) -> Option<Result<(Metadata, Query), Message>> {
    let mut decoder = BinDecoder::new(packet);
    let header = Header::read(&mut decoder).ok()?;
    let metadata = header.metadata;
    // An answer is not answered, or two of us would talk for ever.
    if metadata.message_type != MessageType::Query {
        return None;
    }
    let refuse = |code| Some(Err(Message::error_msg(metadata.id, metadata.op_code, code)));
    if metadata.op_code != OpCode::Query {
        return refuse(ResponseCode::NotImp);
    }
    if header.counts.queries != 1 {
        return refuse(ResponseCode::FormErr);
    }
    match Query::read(&mut decoder) {
        Ok(query) if query.query_class == DNSClass::IN => Some(Ok((metadata, query))),
        Ok(_) => refuse(ResponseCode::Refused),
        Err(_) => refuse(ResponseCode::FormErr),
    }
}

/// An address goes only to who asked for one: every other type of a name that exists has no data (RFC 2308 §2.2).
fn reply(question: &Metadata, query: Query, code: ResponseCode, address: Option<Ipv4Addr>) -> Message {
    let mut message = Message::response(question.id, question.op_code);
    message.metadata = Metadata::response_from_request(question);
    message.metadata.recursion_available = true;
    message.metadata.response_code = code;
    if let Some(address) = address
        && matches!(query.query_type, RecordType::A | RecordType::ANY)
    {
        message.add_answer(Record::from_rdata(query.name.clone(), TTL, RData::A(A(address))));
    }
    message.add_query(query);
    message
}

#[cfg(test)]
mod tests;
