//! How does a server run where it can reach nothing but what its plan lists?

pub mod egress;
pub mod gate;
pub mod init_binary;
pub mod link;
