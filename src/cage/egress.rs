//! stub
use super::gate::*; use futures_util::future::BoxFuture;
pub struct Egress;
impl Egress { pub fn none() -> Self { Self } pub fn denied(&self) -> Vec<crate::text::Shown> { vec![] } }
impl Gate for Egress { fn ports(&self) -> Vec<u16> { vec![] } fn name(&self, _n: &str) -> BoxFuture<'_, bool> { Box::pin(async{false}) } fn connect(&self, _n:&str,_p:u16) -> BoxFuture<'_, Result<Box<dyn Duplex>, GateRefused>> { Box::pin(async{Err(GateRefused::new("no"))}) } }
