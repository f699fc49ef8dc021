// SPDX-License-Identifier: MIT
//! smoltcp for bench/speed: two interfaces in one thread on a wire of recycled buffers, passed by move. Driven at its
//! best: one pass of ingress, application and egress per side and turn; data is written into its ring and read from
//! it in place; no congestion control and no timestamps, as they are off by default.

use std::collections::VecDeque;
use std::os::raw::{c_char, c_uint, c_ulong};

use smoltcp::iface::{Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{self, Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address};

const PORT: u16 = 7;
const IDLE_PORT: u16 = 5001;
const FIRST_PORT: u16 = 10000;
const ETHERNET: usize = 14;
const SMALL_RING: usize = 4096;
const OPENING: usize = 128;
const SHORT_SOCKETS: usize = 64; // a group of connect.c
const UDP_RING: usize = 256;

/// As struct speed_conf in harness.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Conf {
    app: App,
    connections: c_uint,
    idle: c_uint,
    message: c_uint,
    mtu: c_uint,
    window: c_uint,
    batch: c_uint,
    tx_csum: c_uint,
    rx_csum: c_uint,
    tso: c_uint,
    lro: c_uint,
    copy: c_uint,
    write: c_uint,
    timestamps: c_uint,
    pacing: c_uint,
    data: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
#[allow(dead_code)] // they come from C
enum App {
    Ping,
    Bulk,
    Connect,
    Idle,
    Load,
    UdpPing,
    UdpBulk,
}

#[repr(C)]
pub struct Count {
    rounds: u64,
    bytes: u64,
    messages: u64,
    opened: u64,
    closed: u64,
    failed: u64,
    frames: u64,
    copied: u64,
    memory: u64,
}

extern "C" {
    fn smoltcp_answered(connection: c_uint);
}

// ---- the wire ----------------------------------------------------------------------------------------

struct Wire {
    frames: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
    frame_bytes: usize,
    sent: u64,
}

/// An end: what goes out on one wire comes in on the other. They live as long as the program.
struct End {
    input: *mut Wire,
    output: *mut Wire,
    budget: usize,
    capabilities: DeviceCapabilities,
}

struct Rx {
    frame: Vec<u8>,
    wire: *mut Wire,
}

struct Tx(*mut Wire);

impl phy::RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let result = f(&self.frame);
        unsafe { (*self.wire).free.push(self.frame) };
        result
    }
}

impl phy::TxToken for Tx {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, f: F) -> R {
        let wire = unsafe { &mut *self.0 };
        let mut frame = wire.free.pop().unwrap_or_else(|| vec![0; wire.frame_bytes]);
        // All of it was written when it was made; its length is never more than that.
        unsafe { frame.set_len(bytes.min(wire.frame_bytes)) };
        let result = f(&mut frame);
        wire.frames.push_back(frame);
        wire.sent += 1;
        result
    }
}

impl Device for End {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx;

    fn capabilities(&self) -> DeviceCapabilities {
        self.capabilities.clone()
    }

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx)> {
        if self.budget == 0 {
            return None;
        }
        let wire = unsafe { &mut *self.input };
        let frame = wire.frames.pop_front()?;
        self.budget -= 1;
        Some((Rx { frame, wire: self.input }, Tx(self.output)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx> {
        Some(Tx(self.output))
    }
}

// ---- the world ---------------------------------------------------------------------------------------

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Free,
    Opening,
    Open,
    Closing,
}

struct Ends {
    handle: SocketHandle,
    phase: Phase,
    got: usize,
}

struct Side {
    iface: Interface,
    end: End,
    sockets: SocketSet<'static>,
    ends: Vec<Ends>,
}

struct World {
    conf: Conf,
    count: &'static mut Count,
    now: i64,
    client: Side,
    server: Side,
    next_port: u16,
    next_socket: usize,
    data: Vec<u8>,
}

static mut WORLD: Option<Box<World>> = None;

#[allow(static_mut_refs)] // one thread
fn world() -> &'static mut World {
    unsafe { WORLD.as_mut().expect("open() comes first") }
}

impl Side {
    fn new(number: u8, conf: &Conf, input: *mut Wire, output: *mut Wire) -> Side {
        let mut capabilities = DeviceCapabilities::default();
        let both = |tx: c_uint, rx: c_uint| match (tx, rx) {
            (0, 0) => Checksum::Both,
            (0, _) => Checksum::Tx,
            (_, 0) => Checksum::Rx,
            _ => Checksum::None,
        };
        let mut checksum = ChecksumCapabilities::ignored();
        checksum.ipv4 = both(conf.tx_csum, conf.rx_csum);
        checksum.tcp = both(conf.tx_csum, conf.rx_csum);
        checksum.udp = both(conf.tx_csum, conf.rx_csum);
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = frame_bytes(conf);
        capabilities.checksum = checksum;
        let mut end = End { input, output, budget: 0, capabilities };
        let mut config = Config::new(EthernetAddress([2, 0, 0, 0, 0, number]).into());
        config.random_seed = u64::from(number);
        let mut iface = Interface::new(config, &mut end, Instant::from_micros(0));
        iface.update_ip_addrs(|all| all.push(IpCidr::new(ip(number), 24)).expect("room for an address"));
        Side { iface, end, sockets: SocketSet::new(vec![]), ends: vec![] }
    }

    fn add(&mut self, receive: usize, send: usize) -> usize {
        let buffer = |bytes| tcp::SocketBuffer::new(vec![0; bytes]);
        let mut socket = tcp::Socket::new(buffer(receive), buffer(send));
        socket.set_nagle_enabled(false);
        let handle = self.sockets.add(socket);
        self.ends.push(Ends { handle, phase: Phase::Free, got: 0 });
        self.ends.len() - 1
    }

    fn add_udp(&mut self, port: u16, message: usize) {
        let buffer =
            || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; UDP_RING], vec![0; message * UDP_RING]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(port).expect("a free port");
        let handle = self.sockets.add(socket);
        self.ends.push(Ends { handle, phase: Phase::Open, got: 0 });
    }

    fn ingress(&mut self, now: Instant, batch: c_uint) {
        self.end.budget = batch as usize;
        while self.iface.poll_ingress_single(now, &mut self.end, &mut self.sockets) != PollIngressSingleResult::None {}
    }

    /// One frame per socket, or as many as there are.
    fn egress(&mut self, now: Instant, all: bool) {
        while self.iface.poll_egress(now, &mut self.end, &mut self.sockets) != PollResult::None && all {}
    }
}

fn ip(number: u8) -> IpAddress {
    Ipv4Address::new(10, 0, 0, number).into()
}

fn frame_bytes(conf: &Conf) -> usize {
    // smoltcp has no TSO: a large MTU stands in for it.
    ETHERNET + if conf.tso != 0 { 65521 } else { conf.mtu as usize }
}

// ---- applications ------------------------------------------------------------------------------------

/// One message into the socket's ring; without `copy` the bytes that are there already are the message.
fn send(socket: &mut tcp::Socket, conf: &Conf, data: &[u8]) -> bool {
    let message = conf.message as usize;
    if message <= 64 || conf.copy != 0 {
        return socket.send_slice(&data[..message]) == Ok(message);
    }
    let mut left = message;
    while left > 0 {
        match socket.send(|room| (room.len().min(left), room.len().min(left))) {
            Ok(n) if n > 0 => left -= n,
            _ => return false,
        }
    }
    true
}

fn fill(socket: &mut tcp::Socket, conf: &Conf, data: &[u8]) {
    let message = (conf.message as usize).min(conf.window as usize / 2);
    if conf.message <= 512 || conf.copy != 0 {
        while socket.send_capacity() - socket.send_queue() >= message {
            if !matches!(socket.send_slice(&data[..message]), Ok(n) if n == message) {
                return;
            }
        }
        return;
    }
    while socket.can_send() {
        if !matches!(socket.send(|room| (room.len().min(message), room.len().min(message))), Ok(n) if n > 0) {
            return;
        }
    }
}

/// Everything that has arrived, read in place and thrown away.
fn receive(socket: &mut tcp::Socket) -> usize {
    let mut bytes = 0;
    while socket.can_recv() {
        bytes += socket.recv(|data| (data.len(), data.len())).unwrap_or(0);
    }
    bytes
}

fn server_app(side: &mut Side, conf: &Conf, count: &mut Count, data: &[u8]) {
    for end in side.ends.iter_mut().take(worked(conf)) {
        let socket = side.sockets.get_mut::<tcp::Socket>(end.handle);
        if socket.can_recv() {
            let bytes = receive(socket);
            count.bytes += bytes as u64;
            end.got += bytes;
            if conf.app != App::Bulk && end.got >= conf.message as usize {
                end.got = 0;
                count.failed += u64::from(!send(socket, conf, data));
            }
        }
        if conf.app != App::Connect {
            continue;
        }
        if socket.state() == tcp::State::CloseWait {
            socket.close();
            end.phase = Phase::Closing;
        } else if socket.state() == tcp::State::Closed {
            count.closed += u64::from(end.phase == Phase::Closing);
            end.phase = Phase::Free;
            socket.listen(PORT).expect("a closed socket listens");
        }
    }
}

fn client_app(side: &mut Side, conf: &Conf, count: &mut Count, data: &[u8]) {
    for (i, end) in side.ends.iter_mut().enumerate().take(worked(conf)) {
        let socket = side.sockets.get_mut::<tcp::Socket>(end.handle);
        if end.phase == Phase::Opening && socket.may_send() {
            end.phase = Phase::Open;
            count.opened += 1;
            if conf.app == App::Connect {
                count.failed += u64::from(!send(socket, conf, data));
            }
        }
        if conf.app == App::Bulk && end.phase == Phase::Open && count.memory != 0 {
            fill(socket, conf, data);
            continue;
        }
        if !socket.can_recv() {
            continue;
        }
        end.got += receive(socket);
        if end.got < conf.message as usize {
            continue;
        }
        end.got = 0;
        count.rounds += 1;
        match conf.app {
            App::Connect => {
                socket.close();
                end.phase = Phase::Closing;
            }
            App::Load => unsafe { smoltcp_answered(i as c_uint) },
            _ => count.failed += u64::from(!send(socket, conf, data)),
        }
    }
}

/// Sockets that the applications look at; idle ones come behind them.
fn worked(conf: &Conf) -> usize {
    match conf.app {
        App::Connect => SHORT_SOCKETS,
        _ => conf.connections as usize,
    }
}

fn udp_server(side: &mut Side, conf: &Conf, count: &mut Count, data: &[u8]) {
    let socket = side.sockets.get_mut::<udp::Socket>(side.ends[0].handle);
    while let Ok((bytes, from)) = socket.recv() {
        count.messages += 1;
        count.bytes += bytes.len() as u64;
        if conf.app == App::UdpPing {
            count.failed += u64::from(socket.send_slice(&data[..conf.message as usize], from).is_err());
        }
    }
}

fn udp_client(side: &mut Side, conf: &Conf, count: &mut Count, data: &[u8], next: &mut usize) {
    let to = IpEndpoint::new(ip(2), PORT);
    let message = &data[..conf.message as usize];
    if conf.app == App::UdpBulk {
        for _ in 0..conf.batch {
            *next = if *next + 1 < side.ends.len() { *next + 1 } else { 0 };
            let socket = side.sockets.get_mut::<udp::Socket>(side.ends[*next].handle);
            count.failed += u64::from(socket.send_slice(message, to).is_err());
        }
        return;
    }
    for end in &side.ends {
        let socket = side.sockets.get_mut::<udp::Socket>(end.handle);
        while socket.recv().is_ok() {
            count.rounds += 1;
            count.failed += u64::from(socket.send_slice(message, to).is_err());
        }
    }
}

impl World {
    fn turn(&mut self) {
        self.now += 1;
        let (now, conf) = (Instant::from_micros(self.now), self.conf);
        let is_udp = conf.app == App::UdpPing || conf.app == App::UdpBulk;
        let all = conf.app == App::Bulk || is_udp;
        self.client.ingress(now, conf.batch);
        if is_udp {
            udp_client(&mut self.client, &conf, self.count, &self.data, &mut self.next_socket);
        } else {
            client_app(&mut self.client, &conf, self.count, &self.data);
        }
        self.client.egress(now, all);
        self.server.ingress(now, conf.batch);
        if is_udp {
            udp_server(&mut self.server, &conf, self.count, &self.data);
        } else {
            server_app(&mut self.server, &conf, self.count, &self.data);
        }
        self.server.egress(now, all);
    }

    fn connect(&mut self, index: usize, port: u16) {
        let end = &mut self.client.ends[index];
        let socket = self.client.sockets.get_mut::<tcp::Socket>(end.handle);
        socket
            .connect(self.client.iface.context(), (ip(2), port), self.next_port)
            .expect("a closed socket connects");
        end.phase = Phase::Opening;
        self.next_port = if self.next_port == 60000 { FIRST_PORT } else { self.next_port + 1 };
    }

    fn is_open(&mut self, index: usize) -> bool {
        let handle = self.client.ends[index].handle;
        self.client.sockets.get_mut::<tcp::Socket>(handle).may_send()
    }

    /// Connect all of these; the server's sockets listen.
    fn open_all(&mut self, from: usize, to: usize, port: u16) -> bool {
        for first in (from..to).step_by(OPENING) {
            let last = (first + OPENING).min(to);
            for index in first..last {
                let handle = self.server.ends[index].handle;
                self.server.sockets.get_mut::<tcp::Socket>(handle).listen(port).expect("it is closed");
                self.connect(index, port);
            }
            let mut turns = 0;
            while turns < 10000 && !(first..last).all(|index| self.is_open(index)) {
                self.turn();
                turns += 1;
            }
        }
        for _ in 0..8 {
            self.turn();
        }
        (from..to).all(|index| self.is_open(index))
    }
}

// ---- what driver.c calls -----------------------------------------------------------------------------

const fn text(bytes: &'static [u8]) -> *const c_char {
    bytes.as_ptr() as *const c_char
}

/// # Safety
/// Both are structs of harness.h; `count` lives as long as the program.
#[no_mangle]
#[allow(static_mut_refs)]
pub unsafe extern "C" fn smoltcp_open(conf: *const Conf, count: *mut Count) -> *const c_char {
    let conf = *conf;
    if conf.connections > 10000 || conf.idle > 10000 {
        return text(b"smoltcp looks at every socket for each packet: it would take too long\0");
    }
    if conf.tso != conf.lro {
        return text(b"smoltcp has no TSO\0");
    }
    let wire = || {
        Box::leak(Box::new(Wire { frames: VecDeque::new(), free: vec![], frame_bytes: frame_bytes(&conf), sent: 0 })) as *mut Wire
    };
    let (there, back) = (wire(), wire());
    let conf = Conf { window: if conf.window == 0 { 65536 } else { conf.window }, ..conf };
    let mut world = Box::new(World {
        conf,
        count: &mut *count,
        now: 1_000_000,
        client: Side::new(1, &conf, back, there),
        server: Side::new(2, &conf, there, back),
        next_port: FIRST_PORT,
        next_socket: 0,
        data: vec![1; conf.message.max(1) as usize],
    });
    let (working, idle) = (worked(&conf), conf.idle as usize);
    if conf.app == App::UdpPing || conf.app == App::UdpBulk {
        world.server.add_udp(PORT, conf.message as usize);
        for i in 0..conf.connections {
            world.client.add_udp(FIRST_PORT + i as u16, conf.message as usize);
        }
        WORLD = Some(world);
        return std::ptr::null();
    }
    for i in 0..working + idle {
        let ring = if i < working && conf.app == App::Bulk { (conf.window as usize).max(SMALL_RING) } else { SMALL_RING };
        world.client.add(SMALL_RING, ring);
        world.server.add(ring, SMALL_RING);
    }
    let mut opened = world.open_all(working, working + idle, IDLE_PORT);
    if conf.app != App::Connect {
        opened &= world.open_all(0, working, PORT);
    }
    world.count.opened = if conf.app == App::Connect { 0 } else { (working + idle) as u64 };
    let socket = std::mem::size_of::<tcp::Socket>();
    world.count.memory = 2 * ((working + idle) * (socket + 2 * SMALL_RING)) as u64;
    WORLD = Some(world);
    if opened {
        std::ptr::null()
    } else {
        text(b"connections do not open\0")
    }
}

#[no_mangle]
pub extern "C" fn smoltcp_begin() {
    let world = world();
    let (conf, data) = (world.conf, &world.data);
    if conf.app == App::UdpPing {
        for end in &world.client.ends {
            let socket = world.client.sockets.get_mut::<udp::Socket>(end.handle);
            let sent = socket.send_slice(&data[..conf.message as usize], IpEndpoint::new(ip(2), PORT));
            world.count.failed += u64::from(sent.is_err());
        }
    }
    if conf.app == App::Ping {
        for end in world.client.ends.iter().take(worked(&conf)) {
            let sent = send(world.client.sockets.get_mut::<tcp::Socket>(end.handle), &conf, data);
            world.count.failed += u64::from(!sent);
        }
    }
}

#[no_mangle]
pub extern "C" fn smoltcp_run(turns: c_ulong) {
    let world = world();
    for _ in 0..turns {
        world.turn();
    }
    world.count.frames = unsafe { (*world.client.end.output).sent + (*world.server.end.output).sent };
}

#[no_mangle]
pub extern "C" fn smoltcp_connect(connections: c_ulong) {
    let world = world();
    let closed = world.count.closed;
    let (mut begun, connections) = (0, connections.min(SHORT_SOCKETS as c_ulong));
    loop {
        let over = world.count.closed - closed;
        if over == connections {
            return;
        }
        while begun < connections && begun - over < u64::from(world.conf.connections) {
            world.connect(begun as usize, PORT);
            begun += 1;
        }
        world.turn();
    }
}

#[no_mangle]
pub extern "C" fn smoltcp_rest() {
    let world = world();
    for _ in 0..10 {
        world.turn();
    }
    world.now += 130_000_000;
    for _ in 0..10 {
        world.turn();
    }
}

#[no_mangle]
pub extern "C" fn smoltcp_request(connection: c_uint) {
    let world = world();
    let end = &world.client.ends[connection as usize];
    let sent = send(world.client.sockets.get_mut::<tcp::Socket>(end.handle), &world.conf, &world.data);
    world.count.failed += u64::from(!sent);
}
