pub mod egress;
pub mod gate;
