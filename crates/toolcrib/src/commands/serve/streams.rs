//! Standard input and output as streams the runtime polls itself.
//!
//! tokio's own go through a blocking thread and back for every message, which costs more than the rest of a call. Clients
//! connect us by pipes or sockets, and those can be polled; anything else (a terminal, a file) falls back to tokio's.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::FileTypeExt, net},
    },
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};

/// What standard input or output is connected to.
enum Kind {
    Pipe(OwnedFd),
    Socket(OwnedFd),
    Other,
}

fn kind(stream: impl AsFd) -> io::Result<Kind> {
    let file = File::from(stream.as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    Ok(if kind.is_fifo() {
        Kind::Pipe(file.into())
    } else if kind.is_socket() {
        Kind::Socket(file.into())
    } else {
        Kind::Other
    })
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let stream = net::UnixStream::from(descriptor);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// Standard input.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    let polled = || -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
        Ok(match kind(io::stdin())? {
            Kind::Pipe(descriptor) => Box::new(pipe::Receiver::from_owned_fd(descriptor)?),
            Kind::Socket(descriptor) => Box::new(socket(descriptor)?),
            Kind::Other => Box::new(tokio::io::stdin()),
        })
    };
    polled().unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

/// Standard output.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    let polled = || -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        Ok(match kind(io::stdout())? {
            Kind::Pipe(descriptor) => Box::new(pipe::Sender::from_owned_fd(descriptor)?),
            Kind::Socket(descriptor) => Box::new(socket(descriptor)?),
            Kind::Other => Box::new(tokio::io::stdout()),
        })
    };
    polled().unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}
