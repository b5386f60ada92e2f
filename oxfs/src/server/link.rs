//! A connection of a client: its endpoint, and the requests that it may have under way.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use oxmpi_oxk::{Bounds, Connection, Endpoint, FULL, Handlers, OpenError, PeerToken};

use super::Server;
use super::session::{Address, Session};
use crate::protocol::{DATA_MAX, KIND_MASK, Kind, REQUEST_MAX, Reply};

/// Requests of one connection that are taken at once; the others wait at the client. With the data
/// of each they are at most 96 MiB.
pub(crate) const REQUESTS_MAX: usize = 96;

/// A client's endpoint here: receives for its requests, their data, replies, data and recalls.
const BOUNDS: Bounds = Bounds {
    requests: 1024,
    peers: 1,
    unexpected_bytes: 256 << 10,
    eager_bytes: DATA_MAX as u32,
    handler: false,
};

pub(crate) struct Link {
    pub number: u64,
    pub endpoint: Endpoint,
    pub session: Mutex<Option<Arc<Session>>>,
    server: Weak<Server>,
}

/// One of the requests that a connection may have under way; dropping it lets the next one in.
pub(crate) struct Ticket(Weak<Link>);

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(link) = self.0.upgrade() {
            link.take_one();
        }
    }
}

/// Where a reply goes that belongs to no slot, and the room that its request takes.
pub(crate) struct Asker {
    pub to: Address,
    pub slot: Option<u32>,
    pub session: Option<Arc<Session>>,
    pub ticket: Option<Ticket>,
}

impl Link {
    /// Takes up a connection. The server keeps the link until the connection is lost.
    pub(crate) fn begin(
        server: &Arc<Server>,
        number: u64,
        connection: Connection,
    ) -> Result<(), OpenError> {
        let told = Arc::downgrade(server);
        let lost = move |_, _| {
            if let Some(server) = told.upgrade() {
                server.link_lost(number);
            }
        };
        let handlers = Handlers {
            lost: Some(Box::new(lost)),
            ..Handlers::default()
        };
        let link = Arc::new(Link {
            number,
            endpoint: Endpoint::open(BOUNDS, handlers)?,
            session: Mutex::new(None),
            server: Arc::downgrade(server),
        });
        server.keep_link(link.clone());
        for _ in 0..REQUESTS_MAX {
            link.take_one();
        }
        if link.endpoint.adopt(connection).is_err() {
            server.link_lost(number);
        }
        Ok(())
    }

    /// Takes one more request.
    fn take_one(self: &Arc<Link>) {
        let link = Arc::downgrade(self);
        let done = move |completed: oxmpi_oxk::Completed| {
            let Some(link) = link.upgrade() else {
                return;
            };
            let Some(peer) = completed.status.peer else {
                // The endpoint is closed.
                return;
            };
            let bits = completed.status.bits;
            match completed.received() {
                Ok(bytes) => link.took(peer, bits, bytes),
                // Longer than any request is.
                Err(_) => link.endpoint.disconnect(peer),
            }
        };
        let bits = Kind::Request.bits(0, 0);
        let buffer = vec![0; REQUEST_MAX];
        let _ = self
            .endpoint
            .receive(bits, KIND_MASK, buffer, Box::new(done));
    }

    fn took(self: &Arc<Link>, peer: PeerToken, bits: u64, bytes: Vec<u8>) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        // Not when its turn comes: a server that has much to do must not take that for silence.
        if let Some(session) = self.session() {
            session.hear();
        }
        let (link, ticket) = (self.clone(), Ticket(Arc::downgrade(self)));
        let pool = server.pool.clone();
        pool.push(Box::new(move || {
            server.request(&link, peer, bits, &bytes, ticket);
        }));
    }

    /// Receives the data of a request, then goes on with it.
    pub(crate) fn take_data(
        self: &Arc<Link>,
        bits: u64,
        bytes: usize,
        then: impl FnOnce(&Arc<Server>, Vec<u8>) + Send + 'static,
    ) {
        let link = self.clone();
        let done = move |completed: oxmpi_oxk::Completed| {
            let Some(server) = link.server.upgrade() else {
                return;
            };
            if let Ok(data) = completed.received() {
                let pool = server.pool.clone();
                pool.push(Box::new(move || then(&server, data)));
            }
        };
        let made = self
            .endpoint
            .receive(bits, FULL, vec![0; bytes], Box::new(done));
        if made.is_err() {
            self.end();
        }
    }

    /// Sends a reply and its data.
    pub(crate) fn reply(
        &self,
        to: &Address,
        reply: &Reply,
        data: Option<Vec<u8>>,
        ticket: Option<Ticket>,
    ) {
        let peer = to.peer;
        let bits = |kind: Kind| kind.bits(to.operation, to.transaction);
        let freed = Some(Box::new(move |_| drop(ticket)) as oxmpi_oxk::Done);
        let data = data.filter(|data| !data.is_empty());
        let sent = match data {
            None => self
                .endpoint
                .send(peer, bits(Kind::Reply), reply.emit(), freed),
            Some(data) => {
                let head = self
                    .endpoint
                    .send(peer, bits(Kind::Reply), reply.emit(), None);
                head.and_then(|_| self.endpoint.send(peer, bits(Kind::DataIn), data, freed))
            }
        };
        if sent.is_err() {
            // The client asks again over a new connection.
            self.endpoint.disconnect(peer);
        }
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        let session = self.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_session(&self, session: Option<Arc<Session>>) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// Ends the connection.
    pub(crate) fn end(&self) {
        self.endpoint.close();
    }
}
