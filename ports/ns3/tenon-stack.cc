/* SPDX-License-Identifier: MIT */
/* An instance of Tenon on a node: memory, packets in and out, and the simulator's clock. */
#include "tenon-ns3.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <ns3/abort.h>
#include <ns3/boolean.h>
#include <ns3/fatal-error.h>
#include <ns3/mac48-address.h>
#include <ns3/node.h>
#include <ns3/random-variable-stream.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include "tenon-address.h"

/* A broken invariant ends the simulation. */
extern "C" void tenon_panic(const char *file, unsigned line)
{
    NS_FATAL_ERROR("Tenon: an invariant is broken at " << file << ":" << line);
}

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TenonStack);

static constexpr uint32_t ETHERNET_BYTES = 14, IP_AND_MORE = 64, IDLE_US = 1800000000;

TypeId TenonStack::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::TenonStack")
            .SetParent<Object>()
            .AddConstructor<TenonStack>()
            .AddAttribute("CongestionControl", "Of new connections: newreno, cubic, highspeed, bbr, dctcp",
                          StringValue("cubic"), MakeStringAccessor(&TenonStack::m_congestionControl),
                          MakeStringChecker())
            .AddAttribute("SndBuf", "Bytes queued or in flight, per connection", UintegerValue(1048576),
                          MakeUintegerAccessor(&TenonStack::m_sndBuf), MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("RcvBuf", "Largest receive window in bytes", UintegerValue(1048576),
                          MakeUintegerAccessor(&TenonStack::m_rcvBuf), MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("Ipv6", "Whether devices get IPv6, with its router solicitations", BooleanValue(true),
                          MakeBooleanAccessor(&TenonStack::m_ipv6), MakeBooleanChecker())
            .AddAttribute("DuplicateAddressDetection",
                          "Whether addresses are probed for duplicates, for seconds, before they are used",
                          BooleanValue(false), MakeBooleanAccessor(&TenonStack::m_dad), MakeBooleanChecker())
            .AddTraceSource("Tx", "An IP packet was given to a device", MakeTraceSourceAccessor(&TenonStack::m_tx),
                            "ns3::TenonStack::PacketTracedCallback")
            .AddTraceSource("Rx", "An IP packet came from a device", MakeTraceSourceAccessor(&TenonStack::m_rx),
                            "ns3::TenonStack::PacketTracedCallback")
            .AddTraceSource("TxDrop", "A device did not take a packet", MakeTraceSourceAccessor(&TenonStack::m_txDrop),
                            "ns3::TenonStack::PacketTracedCallback")
            .AddTraceSource("Event", "Something happened to a connection",
                            MakeTraceSourceAccessor(&TenonStack::m_event), "ns3::TenonStack::EventTracedCallback");

    return tid;
}

TenonStack::TenonStack()
{
    tenon_conf_default(&m_conf);
}

tenon_conf &TenonStack::Conf()
{
    NS_ABORT_MSG_IF(m_stack, "TenonStack::Conf(): to be changed before the first device is added");
    return m_conf;
}

Ptr<Node> TenonStack::GetNode() const
{
    return GetObject<Node>();
}

tenon *TenonStack::Instance()
{
    if (!m_stack)
        Begin();
    else if (!m_inside && m_lastUs != static_cast<uint64_t>(Simulator::Now().GetMicroSeconds()))
        Poll();
    return m_stack;
}

void TenonStack::Begin()
{
    static const tenon_host ops = { TENON_HOST_VERSION, MemGet, MemPut, BufGet, Transmit, Entropy };

    NS_ABORT_MSG_UNLESS(Node::ChecksumEnabled(),
                        "Tenon makes and verifies checksums, and ns-3 leaves them out unless it is told otherwise. "
                        "Begin the program with: "
                        "GlobalValue::Bind(\"ChecksumEnabled\", BooleanValue(true));");
    m_conf.tcp_cc = tenon_cc_find(m_congestionControl.c_str());
    NS_ABORT_MSG_UNLESS(m_conf.tcp_cc, "CongestionControl: Tenon has no \"" << m_congestionControl << "\"");
    m_conf.tcp_snd_buf = m_sndBuf;
    m_conf.tcp_rcv_buf = m_rcvBuf;
    m_conf.trace = Trace;
    m_memory.resize(tenon_mem_size(&m_conf) / sizeof(uint64_t) + 1);
    m_stack = tenon_init(m_memory.data(), &m_conf, &ops, this);
    NS_ABORT_MSG_UNLESS(m_stack, "Tenon does not take this configuration: " << tenon_conf_check(&m_conf));
    m_lastUs = static_cast<uint64_t>(Simulator::Now().GetMicroSeconds());
}

void TenonStack::DoDispose()
{
    m_timer.Cancel();
    tenon *const stack = m_stack;
    m_stack = nullptr;    // nobody is told any more
    if (stack)
        tenon_fini(stack);
    m_sockets.clear();
    m_listening.clear();
    m_ports.clear();
    Object::DoDispose();
}

uint32_t TenonStack::Counter(enum tenon_stat stat)
{
    return tenon_stat(Instance(), stat);
}

/* ---- devices, addresses, routes ------------------------------------------------------------------ */

uint32_t TenonStack::Netif(Ptr<NetDevice> device)
{
    for (size_t i = 0; i < m_ports.size(); i++)
        if (m_ports[i].device == device)
            return static_cast<uint32_t>(i + 1);
    return AddDevice(device);
}

uint32_t TenonStack::AddDevice(Ptr<NetDevice> device)
{
    const auto queues = device->GetObject<NetDeviceQueueInterface>();
    tenon_netif_conf conf = {};
    Port port = { device, nullptr, device->NeedsArp() };

    NS_ABORT_MSG_UNLESS(device->GetNode() == GetNode(), "This device is on another node than the TenonStack");
    conf.mtu = device->GetMtu();
    conf.caps = port.ethernet ? 0U : uint32_t{ TENON_CAP_NO_LINK };
    if (port.ethernet)
        Mac48Address::ConvertFrom(device->GetAddress()).CopyTo(conf.mac);
    if (!m_ipv6 || conf.mtu < 1280)
        conf.flags |= TENON_NETIF_NO_IP6;
    if (!m_dad)
        conf.flags |= TENON_NETIF_NO_DAD;
    m_bufBytes = std::max(m_bufBytes, uint32_t{ conf.mtu } + IP_AND_MORE);
    if (queues) {
        port.queue = queues->GetTxQueue(0);
        port.queue->SetWakeCallback(MakeCallback(&TenonStack::Wake, this));
    }
    const int netif = tenon_netif_add(Instance(), &conf);
    NS_ABORT_MSG_UNLESS(netif > 0, "The device cannot be added: " << tenon_error_text(netif));
    m_ports.push_back(port);
    const auto number = static_cast<uint32_t>(netif);
    LinkChanged(number);
    device->AddLinkChangeCallback(MakeCallback(&TenonStack::LinkChanged, this).Bind(number));
    GetNode()->RegisterProtocolHandler(MakeCallback(&TenonStack::Receive, this), 0, device, true);
    return number;
}

void TenonStack::LinkChanged(uint32_t netif)
{
    if (m_stack)
        tenon_netif_link(Instance(), netif, m_ports[netif - 1].device->IsLinkUp());
    Wake();
}

void TenonStack::AddAddress(Ptr<NetDevice> device, const Address &ip, unsigned prefix)
{
    const tenon_ip local = TenonIp(ip);
    const int error = tenon_addr_add(Instance(), Netif(device), &local, prefix);

    NS_ABORT_MSG_IF(error, "The address cannot be added: " << tenon_error_text(error));
    Wake();
}

void TenonStack::AddRoute(Ptr<NetDevice> device, const Address &to, unsigned prefix, const Address &gateway)
{
    const tenon_ip dst = TenonIp(to), hop = TenonIp(gateway);
    const bool direct = (hop.w[0] | hop.w[1] | hop.w[TENON_IP4_WORD]) == 0;
    const int error = tenon_route_add(Instance(), Netif(device), &dst, prefix, direct ? nullptr : &hop, 0);

    NS_ABORT_MSG_IF(error, "The route cannot be added: " << tenon_error_text(error));
    Wake();
}

/* ---- time ----------------------------------------------------------------------------------------- */

/* The instance's clock becomes the simulator's. One without connections has slept, perhaps longer than its clock can
 * say. It must wake before it opens one, else it takes all that time for an answer that does not come: hence Instance()
 * polls. */
uint32_t TenonStack::Advance()
{
    const uint64_t now = static_cast<uint64_t>(Simulator::Now().GetMicroSeconds());
    const bool inside = m_inside;

    m_inside = true;
    while (now - m_lastUs > IDLE_US) {
        m_lastUs += IDLE_US;
        tenon_poll(m_stack, static_cast<uint32_t>(m_lastUs));
    }
    m_lastUs = now;
    m_inside = inside;
    return static_cast<uint32_t>(now);
}

void TenonStack::Poll()
{
    m_inside = true;
    const uint32_t later_us = tenon_poll(m_stack, Advance());
    m_inside = false;
    /* 0: a queue is full, which will wake us. An instance without connections lets a simulation end; with some, what is
     * due in hours may hide behind the longest time that the core asks for. */
    if (later_us > 0 && (later_us < IDLE_US || HasConnections()))
        Schedule(later_us);
}

bool TenonStack::HasConnections()
{
    const auto found = [](tenon_tcp *, void *arg) { *static_cast<bool *>(arg) = true; };
    bool some = false;

    tenon_tcp_each(m_stack, found, &some);
    return some;
}

/* A timer that is there already and goes off earlier is left as it is: most are for a segment that is acknowledged
 * before, and each that is cancelled stays in the simulator's queue until its time. */
void TenonStack::Schedule(uint32_t later_us)
{
    const uint64_t at = m_lastUs + later_us;

    if (!m_timer.IsExpired() && m_timerUs <= at)
        return;
    m_timer.Cancel();
    m_timerUs = at;
    m_timer = Simulator::Schedule(MicroSeconds(at) - Simulator::Now(), &TenonStack::Poll, this);
}

void TenonStack::Wake()
{
    if (m_inside || !m_stack || (!m_timer.IsExpired() && Simulator::GetDelayLeft(m_timer).IsZero()))
        return;
    m_timer.Cancel();
    m_timerUs = static_cast<uint64_t>(Simulator::Now().GetMicroSeconds());
    m_timer = Simulator::ScheduleNow(&TenonStack::Poll, this);
}

/* ---- packets -------------------------------------------------------------------------------------- */

void TenonStack::Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address &from,
                         const Address &to, NetDevice::PacketType type)
{
    if (type == NetDevice::PACKET_OTHERHOST || !m_stack)
        return;
    const uint32_t netif = Netif(device), head = m_ports[netif - 1].ethernet ? ETHERNET_BYTES : 0;
    const uint32_t bytes = packet->GetSize();

    m_rx(packet, device);
    tenon_buf *buf = TenonBuf(head + bytes);
    if (head > 0) {
        Mac48Address::ConvertFrom(to).CopyTo(buf->data);
        Mac48Address::ConvertFrom(from).CopyTo(buf->data + 6);
        buf->data[12] = static_cast<uint8_t>(protocol >> 8);
        buf->data[13] = static_cast<uint8_t>(protocol);
    }
    packet->CopyData(buf->data + head, bytes);
    const tenon_span span = { buf, 0, head + bytes };
    tenon_frame frame = {};
    frame.spans = &span;
    frame.nspans = 1;
    m_inside = true;
    tenon_input(m_stack, netif, &frame, 1, Advance());
    tenon_buf_put(buf);
    Poll();
}

void TenonStack::Send(Port &port, const tenon_frame &frame)
{
    const uint32_t head = port.ethernet ? ETHERNET_BYTES : 0;
    uint16_t protocol;
    Mac48Address to = Mac48Address::GetBroadcast();

    m_scratch.clear();
    for (unsigned i = 0; i < frame.nspans; i++) {
        const uint8_t *data = tenon_span_data(&frame.spans[i]);
        m_scratch.insert(m_scratch.end(), data, data + frame.spans[i].len);
    }
    if (port.ethernet) {
        to.CopyFrom(m_scratch.data());
        protocol = static_cast<uint16_t>(m_scratch[12] << 8 | m_scratch[13]);
    } else {
        protocol = m_scratch[0] >> 4 == 4 ? 0x0800 : 0x86DD;
    }
    const auto packet = Create<Packet>(m_scratch.data() + head, static_cast<uint32_t>(m_scratch.size() - head));
    m_tx(packet, port.device);
    /* A copy, for who listens keeps what it was given: the device puts its header into that. */
    if (!port.device->Send(packet->Copy(), port.ethernet ? Address(to) : port.device->GetBroadcast(), protocol))
        m_txDrop(packet, port.device);
}

/* ---- what the instance asks of its host ------------------------------------------------------------ */

unsigned TenonStack::Transmit(void *host, unsigned netif, const tenon_frame *frames, unsigned n)
{
    auto *self = static_cast<TenonStack *>(host);
    Port &port = self->m_ports[netif - 1];

    for (unsigned i = 0; i < n; i++) {
        if (port.queue && port.queue->IsStopped())
            return i;
        self->Send(port, frames[i]);
    }
    return n;
}

void *TenonStack::MemGet(void *, size_t bytes)
{
    return std::malloc(bytes);
}

void TenonStack::MemPut(void *, void *mem, size_t)
{
    std::free(mem);
}

unsigned TenonStack::BufGet(void *host, tenon_buf **bufs, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        bufs[i] = TenonBuf(static_cast<TenonStack *>(host)->m_bufBytes);
    return n;
}

/* From the simulator's random numbers: another RngRun is another simulation, the same one is the same. */
int TenonStack::Entropy(void *, void *bytes, size_t n)
{
    const auto random = CreateObject<UniformRandomVariable>();

    std::generate_n(static_cast<uint8_t *>(bytes), n,
                    [&random] { return static_cast<uint8_t>(random->GetInteger(0, 255)); });
    return 0;
}

void TenonStack::Trace(void *host, const tenon_trace_event *event)
{
    const auto *self = static_cast<TenonStack *>(host);
    const auto found = self->m_sockets.find(event->conn);

    self->m_event(*event);
    if (found != self->m_sockets.end())
        found->second->Observe(*event);
}

/* ---- helper ---------------------------------------------------------------------------------------- */

TenonHelper::TenonHelper()
{
    m_factory.SetTypeId(TenonStack::GetTypeId());
}

void TenonHelper::SetAttribute(const std::string &name, const AttributeValue &value)
{
    m_factory.Set(name, value);
}

Ptr<TenonStack> TenonHelper::Install(Ptr<Node> node) const
{
    const auto stack = m_factory.Create<TenonStack>();

    NS_ABORT_MSG_IF(node->GetObject<TenonStack>(), "This node has Tenon already");
    node->AggregateObject(stack);
    node->AggregateObject(CreateObject<TenonSocketFactory>());
    return stack;
}

void TenonHelper::Install(const NodeContainer &nodes) const
{
    for (auto node = nodes.Begin(); node != nodes.End(); ++node)
        Install(*node);
}

} // namespace ns3
