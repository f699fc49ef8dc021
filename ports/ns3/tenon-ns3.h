/* SPDX-License-Identifier: MIT */
/** @file
 *  Tenon on the nodes of an ns-3 simulation (ns-3.37, C++17): an instance per node, the simulator's clock, any net
 *  device with Ethernet addresses (CSMA) or none (point-to-point).
 *
 *      ns3::GlobalValue::Bind("ChecksumEnabled", ns3::BooleanValue(true));
 *      auto stack = ns3::TenonHelper().Install(node);
 *      stack->AddAddress(device, ns3::Ipv4Address("10.0.0.1"), 24);
 *      ns3::BulkSendHelper source("ns3::TenonSocketFactory", ns3::InetSocketAddress("10.0.0.2", 5001));
 *
 *  Applications use it as they use ns-3's own TCP, through sockets made by name; or they take the instance itself and
 *  the events of <tenon/tcp.h>. All of it in the one thread of the simulator. */
#ifndef TENON_PORTS_NS3_TENON_NS3_H
#define TENON_PORTS_NS3_TENON_NS3_H

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include <ns3/event-id.h>
#include <ns3/ipv4-address.h>
#include <ns3/ipv6-address.h>
#include <ns3/net-device-queue-interface.h>
#include <ns3/net-device.h>
#include <ns3/node-container.h>
#include <ns3/nstime.h>
#include <ns3/object-factory.h>
#include <ns3/object.h>
#include <ns3/packet.h>
#include <ns3/socket-factory.h>
#include <ns3/socket.h>
#include <ns3/traced-callback.h>
#include <ns3/traced-value.h>

#include <tenon/tenon.h>

namespace ns3
{

class Node;
class TenonSocket;

/** An instance of Tenon, aggregated to its node: node->GetObject<TenonStack>(). Begins with its first device.
 *
 *  Attributes: CongestionControl, SndBuf, RcvBuf, Ipv6, DuplicateAddressDetection.
 *  Trace sources: Tx, Rx (packets of IP), TxDrop (the device's queue was full), Event (whatever happens to any
 *  connection: <tenon/trace.h>). Who listens to them must not call into the instance. */
class TenonStack : public Object
{
public:
    typedef void (*PacketTracedCallback)(Ptr<const Packet> packet, Ptr<NetDevice> device);
    typedef void (*EventTracedCallback)(const tenon_trace_event &event);

    static TypeId GetTypeId();
    TenonStack();

    /** What the attributes do not cover. To be changed before the first device; `tcp_cc` and `trace` are set here. */
    tenon_conf &Conf();

    /** The number of a device in the instance. One that is new is added, with its MTU and Ethernet address. */
    uint32_t Netif(Ptr<NetDevice> device);

    /** @param ip  an Ipv4Address or Ipv6Address; its prefix is reached through the device from then on */
    void AddAddress(Ptr<NetDevice> device, const Address &ip, unsigned prefix);

    /** @param to       network; any address and prefix 0 for the default route
     *  @param gateway  next hop; any address: the destinations are on the link */
    void AddRoute(Ptr<NetDevice> device, const Address &to, unsigned prefix, const Address &gateway);

    /** The instance, for the C interface, with its clock put right: ask for it each time that you open something. After
     *  calls into it, but from handlers: Wake(). */
    tenon *Instance();
    void Wake();

    /** How often something happened, of <tenon/stats.h>: every drop has a counter. */
    uint32_t Counter(enum tenon_stat stat);

    Ptr<Node> GetNode() const;

protected:
    void DoDispose() override;

private:
    friend class TenonSocket;

    struct Port {
        Ptr<NetDevice> device;
        Ptr<NetDeviceQueue> queue;    // tells when it is full; none: the device drops
        bool ethernet;
    };

    static void *MemGet(void *host, size_t bytes);
    static void MemPut(void *host, void *mem, size_t bytes);
    static unsigned BufGet(void *host, tenon_buf **bufs, unsigned n);
    static unsigned Transmit(void *host, unsigned netif, const tenon_frame *frames, unsigned n);
    static int Entropy(void *host, void *bytes, size_t n);
    static void Trace(void *host, const tenon_trace_event *event);

    uint32_t AddDevice(Ptr<NetDevice> device);
    void Send(Port &port, const tenon_frame &frame);
    void Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address &from,
                 const Address &to, NetDevice::PacketType type);
    void LinkChanged(uint32_t netif);
    void Begin();
    uint32_t Advance();
    void Poll();
    bool HasConnections();
    void Schedule(uint32_t later_us);

    tenon_conf m_conf;
    std::string m_congestionControl;
    uint32_t m_sndBuf, m_rcvBuf;
    bool m_ipv6, m_dad;

    std::vector<uint64_t> m_memory;    // the instance lives in it
    tenon *m_stack = nullptr;
    bool m_inside = false;    // the core is at work: it needs no wake
    std::vector<Port> m_ports;    // the first is number 1
    uint32_t m_bufBytes = 2048;
    std::vector<uint8_t> m_scratch;    // a frame that leaves, in one piece
    std::unordered_map<uint32_t, Ptr<TenonSocket>> m_sockets;    // by number of the connection
    std::vector<Ptr<TenonSocket>> m_listening;    // both are here that they live as long as the core knows them

    EventId m_timer;
    uint64_t m_timerUs = 0, m_lastUs = 0;

    TracedCallback<Ptr<const Packet>, Ptr<NetDevice>> m_tx, m_rx, m_txDrop;
    TracedCallback<const tenon_trace_event &> m_event;
};

/** A TCP connection or listener of Tenon as ns-3 applications know sockets. It goes on after Close(), or when
 * nobody has it any more, until the connection has ended. Recv() gives at most one piece as it arrived. After the
 * end of a connection Connect() may make another one; what was not read of the first is gone then.
 *
 *  Trace sources, named as those of ns-3's own TCP: CongestionWindow, SlowStartThreshold, BytesInFlight, RTT,
 *  RTO. */
class TenonSocket : public Socket
{
public:
    static TypeId GetTypeId();

    /** The connection, for options, tenon_tcp_status() and the like; NULL before Connect() and after its end. */
    tenon_tcp *Connection() const;

    SocketErrno GetErrno() const override;
    SocketType GetSocketType() const override;
    Ptr<Node> GetNode() const override;
    int Bind(const Address &address) override;
    int Bind() override;
    int Bind6() override;
    int Close() override;
    int ShutdownSend() override;
    int ShutdownRecv() override;
    int Connect(const Address &address) override;
    int Listen() override;
    uint32_t GetTxAvailable() const override;
    int Send(Ptr<Packet> packet, uint32_t flags) override;
    int SendTo(Ptr<Packet> packet, uint32_t flags, const Address &to) override;
    uint32_t GetRxAvailable() const override;
    Ptr<Packet> Recv(uint32_t maxSize, uint32_t flags) override;
    Ptr<Packet> RecvFrom(uint32_t maxSize, uint32_t flags, Address &from) override;
    int GetSockName(Address &address) const override;
    int GetPeerName(Address &address) const override;
    bool SetAllowBroadcast(bool allow) override;
    bool GetAllowBroadcast() const override;

private:
    friend class TenonStack;
    friend class TenonSocketFactory;

    static tenon_verdict Incoming(tenon_tcp *conn, void *app);
    static void Accepted(tenon_tcp *conn, void *app);
    static void Opened(tenon_tcp *conn, void *app);
    static void Received(tenon_tcp *conn, void *app, const tenon_span *spans, unsigned n);
    static void Acked(tenon_tcp *conn, void *app, tenon_u32 bytes);
    static void Finished(tenon_tcp *conn, void *app);
    static void Closed(tenon_tcp *conn, void *app, int why);
    static const tenon_tcp_events s_listener, s_connection;

    void Attach(tenon_tcp *conn);
    void Observe(const tenon_trace_event &event);
    int Fail(int error) const;
    int Fail(SocketErrno error) const;

    Ptr<TenonStack> m_stack;
    tenon_tcp *m_conn = nullptr;
    tenon_tcp_listener *m_listener = nullptr;
    tenon_addr m_bound = {};    // what Bind() has asked for
    tenon_addr m_local = {}, m_remote = {};
    std::deque<Ptr<Packet>> m_received;
    uint32_t m_receivedBytes = 0;
    bool m_opened = false, m_peerFinished = false, m_shutdownSend = false, m_shutdownRecv = false;
    mutable SocketErrno m_errno = ERROR_NOTERROR;

    TracedValue<uint32_t> m_cwnd{ 0 }, m_ssthresh{ 0 }, m_inFlight{ 0 };
    TracedValue<Time> m_rtt, m_rto;
};

/** Makes sockets of the node's TenonStack: for BulkSendHelper and others that want the name of a factory. */
class TenonSocketFactory : public SocketFactory
{
public:
    static TypeId GetTypeId();
    Ptr<Socket> CreateSocket() override;
};

/** Puts Tenon on nodes. */
class TenonHelper
{
public:
    TenonHelper();

    /** An attribute of TenonStack, for all that are installed from now on. */
    void SetAttribute(const std::string &name, const AttributeValue &value);

    Ptr<TenonStack> Install(Ptr<Node> node) const;
    void Install(const NodeContainer &nodes) const;

private:
    ObjectFactory m_factory;
};

} // namespace ns3

#endif
