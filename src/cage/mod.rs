//! How does a server run where it can reach nothing but what its plan lists?

pub mod init_binary;
pub mod link;
