// SPDX-License-Identifier: MIT
//! smoltcp on a TAP interface, as a sender:
//!
//!     smoltcp-sender TAP ADDRESS PEER PORT reno|cubic|none
//!
//! connects from ADDRESS/24 to PEER and sends the bytes that kernel.c expects until the peer hangs up.

use std::net::Ipv4Addr;
use std::os::unix::io::AsRawFd;
use std::process::exit;

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{wait, Medium, TunTapInterface};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

const PERIOD: usize = 251;
const SEND_BYTES: usize = 1 << 20;
const RECEIVE_BYTES: usize = 1 << 16;

struct Arguments {
    tap: String,
    own: Ipv4Addr,
    peer: Ipv4Addr,
    port: u16,
    control: CongestionControl,
}

fn arguments() -> Option<Arguments> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if given.len() != 5 {
        return None;
    }
    Some(Arguments {
        tap: given[0].clone(),
        own: given[1].parse().ok()?,
        peer: given[2].parse().ok()?,
        port: given[3].parse().ok()?,
        control: match given[4].as_str() {
            "reno" => CongestionControl::Reno,
            "cubic" => CongestionControl::Cubic,
            "none" => CongestionControl::None,
            _ => return None,
        },
    })
}

/// As many bytes as the socket has room for. `at`: how many it has got before.
fn feed(socket: &mut Socket, at: &mut usize) {
    while socket.can_send() {
        let start = *at;
        let sent = socket.send(|room| {
            for (i, byte) in room.iter_mut().enumerate() {
                *byte = ((start + i) % PERIOD) as u8;
            }
            (room.len(), room.len())
        });
        match sent {
            Ok(n) => *at = (*at + n) % PERIOD,
            Err(_) => return,
        }
    }
}

fn main() {
    let Some(arguments) = arguments() else {
        eprintln!("Usage: smoltcp-sender TAP ADDRESS PEER PORT reno|cubic|none");
        exit(2);
    };
    let mut device = TunTapInterface::new(&arguments.tap, Medium::Ethernet).unwrap_or_else(|error| {
        eprintln!("smoltcp: {}: {error}", arguments.tap);
        exit(1);
    });
    let fd = device.as_raw_fd();

    let mut config = Config::new(EthernetAddress([0x02, 0, 0, 0, 0, 0x10]).into());
    config.random_seed = Instant::now().total_micros() as u64 ^ u64::from(std::process::id()) << 32;
    let mut iface = Interface::new(config, &mut device, Instant::now());
    iface.update_ip_addrs(|all| all.push(IpCidr::new(arguments.own.into(), 24)).expect("room for an address"));

    let mut socket = Socket::new(SocketBuffer::new(vec![0; RECEIVE_BYTES]), SocketBuffer::new(vec![0; SEND_BYTES]));
    socket.set_congestion_control(arguments.control);
    socket.set_nagle_enabled(false);
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(socket);
    let port = 49152 + (std::process::id() % 16384) as u16;
    sockets
        .get_mut::<Socket>(handle)
        .connect(iface.context(), (IpAddress::from(arguments.peer), arguments.port), port)
        .expect("connect");

    let mut at = 0;
    loop {
        let now = Instant::now();
        iface.poll(now, &mut device, &mut sockets);
        let socket = sockets.get_mut::<Socket>(handle);
        if socket.state() == State::Closed {
            return;
        }
        if socket.can_send() {
            feed(socket, &mut at);
            iface.poll(now, &mut device, &mut sockets);
        }
        wait(fd, iface.poll_delay(Instant::now(), &sockets)).expect("poll");
    }
}
