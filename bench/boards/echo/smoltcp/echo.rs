// SPDX-License-Identifier: MIT
//! The echo with smoltcp. What is received is copied out of the driver's block into the buffer of its socket, what is
//! sent out of another one into a frame; smoltcp.c is between this and the driver.
#![no_std]

use core::mem::MaybeUninit;
use core::ptr::addr_of_mut;
use core::slice;

use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet, SocketStorage,
};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

const PORT: u16 = 7;
const CLIENTS: usize = 4;
const WINDOW: usize = 2 * 1460;
const DATAGRAM: usize = 1472;
const FRAME: usize = 1514;
const TURN_US: u64 = 1_000_000;

extern "C" {
    fn glue_receive(n: *mut usize) -> *const u8;
    fn glue_release();
    fn glue_send(bytes: *const u8, n: usize);
    fn glue_now_us() -> u64;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

// ---- the device

static mut LISTENING: usize = 0;

/// smoltcp resets who comes when no socket listens. As the stacks beside this do, we let him ask again.
fn comes_too_early(frame: &[u8]) -> bool {
    (unsafe { LISTENING == 0 }) && frame.len() >= 54 && frame[12..15] == [8u8, 0, 0x45][..] && frame[23] == 6
        && frame[47] & 0x12 == 2
}

struct Board;
struct Received(&'static [u8]);
struct Frame;

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let result = f(self.0);
        unsafe { glue_release() };
        result
    }
}

impl TxToken for Frame {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        static mut BYTES: [u8; FRAME] = [0; FRAME];
        let bytes = unsafe { slice::from_raw_parts_mut(addr_of_mut!(BYTES).cast::<u8>(), len.min(FRAME)) };
        let result = f(bytes);
        unsafe { glue_send(bytes.as_ptr(), bytes.len()) };
        result
    }
}

impl Device for Board {
    type RxToken<'a> = Received;
    type TxToken<'a> = Frame;

    fn receive(&mut self, _: Instant) -> Option<(Received, Frame)> {
        loop {
            let mut n = 0;
            let bytes = unsafe { glue_receive(&mut n) };
            if bytes.is_null() {
                return None;
            }
            let bytes = unsafe { slice::from_raw_parts(bytes, n) };
            if !comes_too_early(bytes) {
                return Some((Received(bytes), Frame));
            }
            unsafe { glue_release() };
        }
    }

    fn transmit(&mut self, _: Instant) -> Option<Frame> {
        Some(Frame)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ethernet;
        all.max_transmission_unit = FRAME;
        all
    }
}

// ---- the end points

struct Echo {
    iface: Interface,
    sockets: SocketSet<'static>,
    clients: [SocketHandle; CLIENTS],
    datagrams: SocketHandle,
}

static mut ECHO: MaybeUninit<Echo> = MaybeUninit::uninit();
static mut PLACES: [SocketStorage<'static>; CLIENTS + 1] = [SocketStorage::EMPTY; CLIENTS + 1];
static mut RECEIVING: [[u8; WINDOW]; CLIENTS] = [[0; WINDOW]; CLIENTS];
static mut SENDING: [[u8; WINDOW]; CLIENTS] = [[0; WINDOW]; CLIENTS];
static mut DATAGRAMS: [[u8; DATAGRAM]; 2] = [[0; DATAGRAM]; 2];
static mut NOTES: [[udp::PacketMetadata; 1]; 2] = [[udp::PacketMetadata::EMPTY; 1]; 2];

fn now() -> Instant {
    Instant::from_micros(unsafe { glue_now_us() } as i64)
}

fn tsval() -> u32 {
    (unsafe { glue_now_us() } / 1000) as u32
}

fn echo(socket: &mut tcp::Socket) {
    if !socket.is_open() {
        let _ = socket.listen(PORT);
    }
    while socket.can_recv() && socket.can_send() {
        let Ok((at, n)) = socket.recv(|bytes| (0, (bytes.as_ptr(), bytes.len()))) else { return };
        // The buffers to receive and to send are two.
        let Ok(sent) = socket.send_slice(unsafe { slice::from_raw_parts(at, n) }) else { return };
        let _ = socket.recv(|_| (sent, ()));
    }
    if socket.state() == tcp::State::CloseWait && !socket.can_recv() {
        socket.close();
    }
}

fn echo_datagrams(socket: &mut udp::Socket) {
    while socket.can_recv() && socket.can_send() {
        let Ok((bytes, from)) = socket.recv() else { return };
        let bytes = unsafe { slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        let _ = socket.send_slice(bytes, from.endpoint);
    }
}

fn datagram_buffer(which: usize) -> udp::PacketBuffer<'static> {
    unsafe {
        let notes = &mut *addr_of_mut!(NOTES[which]);
        udp::PacketBuffer::new(&mut notes[..], (&mut *addr_of_mut!(DATAGRAMS[which])).as_mut_slice())
    }
}

/// To be called once. `mac`: six bytes.
#[no_mangle]
pub unsafe extern "C" fn smoltcp_start(mac: *const [u8; 6], seed: u64) {
    let mut config = Config::new(EthernetAddress(*mac).into());
    config.random_seed = seed;
    let mut iface = Interface::new(config, &mut Board, now());
    iface.update_ip_addrs(|all| {
        let _ = all.push(IpCidr::new(IpAddress::v4(10, 0, 2, 15), 24));
    });
    let mut sockets = SocketSet::new((&mut *addr_of_mut!(PLACES)).as_mut_slice());
    let clients = core::array::from_fn(|i| {
        let mut socket = tcp::Socket::new(
            tcp::SocketBuffer::new((&mut *addr_of_mut!(RECEIVING[i])).as_mut_slice()),
            tcp::SocketBuffer::new((&mut *addr_of_mut!(SENDING[i])).as_mut_slice()),
        );
        socket.set_tsval_generator(Some(tsval));
        socket.set_congestion_control(tcp::CongestionControl::Reno);
        sockets.add(socket)
    });
    let mut socket = udp::Socket::new(datagram_buffer(0), datagram_buffer(1));
    let _ = socket.bind(PORT);
    let datagrams = sockets.add(socket);
    (*addr_of_mut!(ECHO)).write(Echo { iface, sockets, clients, datagrams });
}

/// Everything that is due. Returns microseconds until it wants to be called again.
#[no_mangle]
pub unsafe extern "C" fn smoltcp_turn() -> u32 {
    let it = (*addr_of_mut!(ECHO)).assume_init_mut();
    loop {
        let came = it.iface.poll_ingress_single(now(), &mut Board, &mut it.sockets);
        LISTENING = 0;
        for handle in it.clients {
            let socket = it.sockets.get_mut::<tcp::Socket>(handle);
            echo(socket);
            LISTENING += usize::from(socket.is_listening());
        }
        echo_datagrams(it.sockets.get_mut(it.datagrams));
        it.iface.poll_maintenance(now());
        while it.iface.poll_egress(now(), &mut Board, &mut it.sockets) == PollResult::SocketStateChanged {}
        if came == PollIngressSingleResult::None {
            break;
        }
    }
    match it.iface.poll_delay(now(), &it.sockets) {
        Some(wait) => wait.total_micros().min(TURN_US) as u32,
        None => TURN_US as u32,
    }
}
