use super::*;
use hickory_proto::serialize::binary::BinEncodable as _;
use proptest::prelude::*;

fn query(name: &str, kind: RecordType) -> Message {
    let mut message = Message::new(7, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message
}

/// What a packet is answered with when the launcher would say yes to all but `localhost`.
fn answered(packet: &[u8]) -> Option<Message> {
    let message = match parse(packet)? {
        Err(refusal) => refusal,
        Ok((metadata, query)) => match classify(&query) {
            Kind::Nowhere => reply(&metadata, query, ResponseCode::NXDomain, None),
            Kind::Localhost | Kind::UnderLocalhost(_) => {
                reply(&metadata, query, ResponseCode::NoError, Some(Ipv4Addr::LOCALHOST))
            }
            Kind::Host(_) => {
                reply(&metadata, query, ResponseCode::NoError, Some(Ipv4Addr::new(127, 64, 0, 1)))
            }
        },
    };
    Some(Message::from_vec(&message.to_vec().unwrap()).unwrap())
}

fn code(packet: &[u8]) -> Option<ResponseCode> {
    answered(packet).map(|message| message.metadata.response_code)
}

#[test]
fn an_address_goes_only_to_who_asks_for_one() {
    for (kind, answers) in [
        (RecordType::A, 1),
        (RecordType::ANY, 1),
        (RecordType::AAAA, 0),
        (RecordType::TXT, 0),
        (RecordType::HTTPS, 0),
        (RecordType::MX, 0),
    ] {
        let answer = answered(&query("api.example.", kind).to_vec().unwrap()).unwrap();
        assert_eq!(answer.metadata.response_code, ResponseCode::NoError, "{kind}");
        assert_eq!(answer.answers.len(), answers, "{kind}");
        assert_eq!((answer.metadata.id, answer.metadata.message_type), (7, MessageType::Response));
        assert!(answer.metadata.recursion_desired && answer.metadata.recursion_available);
    }
}

#[test]
fn the_question_comes_back_as_it_was_spelled() {
    // RFC 5452 §9.2 and resolvers that mix the case as a check.
    let answer = answered(&query("aPi.ExAmple.", RecordType::A).to_vec().unwrap()).unwrap();
    assert_eq!(answer.queries[0].name.to_ascii(), "aPi.ExAmple.");
    assert_eq!(answer.answers[0].name.to_ascii(), "aPi.ExAmple.");
}

#[test]
fn accepts_a_question_with_edns() {
    let mut message = query("api.example.", RecordType::A);
    let mut edns = hickory_proto::op::Edns::new();
    edns.set_max_payload(1232).set_version(0);
    message.set_edns(edns);
    assert_eq!(code(&message.to_vec().unwrap()), Some(ResponseCode::NoError));
}

#[test]
fn refuses_names_that_no_rule_could_allow() {
    let names: [&[&[u8]]; 6] = [
        &[b"5", b"0", b"64", b"127", b"in-addr", b"arpa"],
        &[b"a b", b"example"],
        &[b"*", b"example"],
        &[b"a.b", b"example"],
        &["\u{e9}".as_bytes(), b"example"],
        &[],
    ];
    for labels in names {
        let mut message = query("x.", RecordType::A);
        message.queries[0].name = Name::from_labels(labels.iter().copied()).unwrap();
        assert_eq!(code(&message.to_vec().unwrap()), Some(ResponseCode::NXDomain), "{labels:?}");
    }
}

#[test]
fn localhost_is_the_cage_itself() {
    for name in ["localhost.", "LOCALHOST.", "x.localhost."] {
        let answer = answered(&query(name, RecordType::A).to_vec().unwrap()).unwrap();
        assert_eq!(answer.answers[0].data, RData::A(A(Ipv4Addr::LOCALHOST)), "{name}");
    }
}

#[test]
fn refuses_what_is_not_one_question_of_the_internet() {
    let mut other = query("a.example.", RecordType::A);
    other.queries[0].query_class = DNSClass::CH;
    assert_eq!(code(&other.to_vec().unwrap()), Some(ResponseCode::Refused));

    let mut update = query("a.example.", RecordType::A);
    update.metadata.op_code = OpCode::Update;
    assert_eq!(code(&update.to_vec().unwrap()), Some(ResponseCode::NotImp));

    let mut two = query("a.example.", RecordType::A);
    two.add_query(Query::query(Name::from_ascii("b.example.").unwrap(), RecordType::A));
    assert_eq!(code(&two.to_vec().unwrap()), Some(ResponseCode::FormErr));

    let none = Message::new(7, MessageType::Query, OpCode::Query);
    assert_eq!(code(&none.to_bytes().unwrap()), Some(ResponseCode::FormErr));
}

#[test]
fn says_nothing_to_an_answer_or_to_noise() {
    let mut answer = query("a.example.", RecordType::A);
    answer.metadata.message_type = MessageType::Response;
    assert!(answered(&answer.to_vec().unwrap()).is_none());
    let whole = query("a.example.", RecordType::A).to_vec().unwrap();
    for cut in 0..12 {
        assert!(answered(&whole[..cut]).is_none(), "{cut}");
    }
}

#[test]
fn refuses_a_name_that_points_at_itself() {
    // Header of one question, then a compression pointer to its own place (RFC 1035 §4.1.4).
    let packet = [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1];
    assert_eq!(code(&packet), Some(ResponseCode::FormErr));
}

proptest! {
    #[test]
    fn no_packet_makes_it_panic(packet in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = answered(&packet);
    }

    #[test]
    fn no_mangled_question_makes_it_panic(at in 0..40_usize, with in any::<u8>(), cut in 0..60_usize) {
        let mut packet = query("some.longer.name.example.", RecordType::A).to_vec().unwrap();
        if let Some(byte) = packet.get_mut(at) {
            *byte = with;
        }
        packet.truncate(cut);
        if let Some(answer) = answered(&packet) {
            prop_assert_eq!(answer.metadata.message_type, MessageType::Response);
        }
    }
}
