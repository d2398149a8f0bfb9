//! stub
pub struct Pin {
    plan: crate::plan::Plan,
    lock: crate::plan::Lock,
}
impl Pin {
    pub fn plan(&self) -> &crate::plan::Plan {
        &self.plan
    }
    pub fn lock(&self) -> &crate::plan::Lock {
        &self.lock
    }
}
