/* SPDX-License-Identifier: MIT */
/* Tenon on simulated nodes, with itself and with ns-3's own TCP: bytes compared at both ends. */
#include "ports/ns3/tenon-ns3.h"

#include <cstdlib>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/csma-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/simple-channel.h>
#include <ns3/simple-net-device.h>

#include "ports/common/test/payload.h"
#include "unit.h"

using namespace ns3;

namespace
{

enum Kind { TENON, NS3 };
enum Link { CSMA, P2P };

constexpr uint16_t PORT = 5001;

const char *Factory(Kind kind)
{
    return kind == TENON ? "ns3::TenonSocketFactory" : "ns3::TcpSocketFactory";
}

/* Two nodes and a cable. */
struct Pair {
    NodeContainer nodes;
    NetDeviceContainer devices;
    bool ipv6 = false;

    Pair(Kind a, Kind b, Link link, uint16_t mtu = 1500, bool v6 = false)
        : ipv6(v6)
    {
        nodes.Create(2);
        if (link == CSMA) {
            CsmaHelper csma;
            csma.SetChannelAttribute("DataRate", StringValue("100Mbps"));
            csma.SetChannelAttribute("Delay", TimeValue(MicroSeconds(10)));
            devices = csma.Install(nodes);
        } else {
            PointToPointHelper cable;
            cable.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
            cable.SetChannelAttribute("Delay", TimeValue(MilliSeconds(2)));
            devices = cable.Install(nodes);
        }
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mtu - (ipv6 ? 72U : 52U)));
        for (uint32_t i = 0; i < 2; i++) {
            devices.Get(i)->SetMtu(mtu);
            if ((i == 0 ? a : b) == TENON)
                Tenon(i);
            else
                Other(i);
        }
    }

    ~Pair()
    {
        Simulator::Destroy();
    }

    Pair(const Pair &) = delete;
    Pair &operator=(const Pair &) = delete;

    Address Ip(uint32_t i) const
    {
        if (ipv6)
            return Ipv6Address(i == 0 ? "2001:db8::1" : "2001:db8::2");
        return Ipv4Address(i == 0 ? "10.0.0.1" : "10.0.0.2");
    }

    Address At(uint32_t i) const
    {
        if (ipv6)
            return Inet6SocketAddress(Ipv6Address::ConvertFrom(Ip(i)), PORT);
        return InetSocketAddress(Ipv4Address::ConvertFrom(Ip(i)), PORT);
    }

    Ptr<TenonStack> Stack(uint32_t i) const
    {
        return nodes.Get(i)->GetObject<TenonStack>();
    }

    void Loss(uint32_t i, double rate) const
    {
        const auto model = CreateObject<RateErrorModel>();

        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(rate);
        devices.Get(i)->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }

private:
    void Tenon(uint32_t i) const
    {
        TenonHelper().Install(nodes.Get(i))->AddAddress(devices.Get(i), Ip(i), ipv6 ? 64 : 24);
    }

    void Other(uint32_t i) const
    {
        InternetStackHelper().Install(nodes.Get(i));
        if (ipv6) {
            const auto ip = nodes.Get(i)->GetObject<Ipv6>();
            const uint32_t number = ip->AddInterface(devices.Get(i));
            ip->AddAddress(number, Ipv6InterfaceAddress(Ipv6Address::ConvertFrom(Ip(i)), Ipv6Prefix(64)));
            ip->SetUp(number);
            return;
        }
        const auto ip = nodes.Get(i)->GetObject<Ipv4>();
        const uint32_t number = ip->AddInterface(devices.Get(i));
        ip->AddAddress(number, Ipv4InterfaceAddress(Ipv4Address::ConvertFrom(Ip(i)), Ipv4Mask("255.255.255.0")));
        ip->SetUp(number);
    }
};

/* One end of a conversation: sends `total` bytes of its own stream, finishes, and compares what comes. */
struct End {
    Ptr<Socket> socket;
    uint64_t stream = 1, others = 1;    // what it sends, and what it gets
    uint64_t total = 0, sent = 0, received = 0, wrong = 0;
    unsigned finished = 0, failed = 0;
    bool closes = false;
    Time last;

    void Take(const Ptr<Socket> &taken)
    {
        socket = taken;
        socket->SetRecvCallback(MakeCallback(&End::Received, this));
        socket->SetSendCallback(MakeCallback(&End::Room, this));
        socket->SetCloseCallbacks(MakeCallback(&End::Finished, this), MakeCallback(&End::Failed, this));
        socket->SetConnectCallback(MakeCallback(&End::Opened, this), MakeCallback(&End::Failed, this));
    }

    void Opened(Ptr<Socket> from)
    {
        Room(from, from->GetTxAvailable());
    }

    void Room(Ptr<Socket>, uint32_t room)
    {
        uint8_t bytes[1400];

        while (sent < total) {
            const auto n = static_cast<uint32_t>(std::min<uint64_t>(total - sent, sizeof bytes));

            if (n > room)
                return;
            payload_fill(bytes, stream, sent, n);
            if (socket->Send(bytes, n, 0) != static_cast<int>(n))
                return;
            sent += n;
            room = socket->GetTxAvailable();
            if (sent == total)
                socket->ShutdownSend();
        }
    }

    void Received(Ptr<Socket> from)
    {
        while (const Ptr<Packet> packet = from->Recv()) {
            std::vector<uint8_t> bytes(packet->GetSize());

            if (bytes.empty())
                return;
            packet->CopyData(bytes.data(), packet->GetSize());
            wrong += !payload_is(bytes.data(), others, received, bytes.size());
            received += bytes.size();
            last = Simulator::Now();
        }
    }

    void Finished(Ptr<Socket> from)
    {
        finished++;
        if (closes)
            from->Close();
    }

    void Failed(Ptr<Socket>)
    {
        failed++;
    }
};

/* A client at node 0 and a server at node 1. */
struct Talk {
    Pair &pair;
    End client, server;
    Ptr<Socket> listener;

    Talk(Pair &on, Kind a, Kind b, uint64_t up, uint64_t down)
        : pair(on)
    {
        client.total = up;
        server.total = down;
        client.others = server.stream = 2;
        listener = Socket::CreateSocket(pair.nodes.Get(1), TypeId::LookupByName(Factory(b)));
        CHECK_EQ_I(listener->Bind(pair.ipv6 ? Address(Inet6SocketAddress(Ipv6Address::GetAny(), PORT))
                                            : Address(InetSocketAddress(Ipv4Address::GetAny(), PORT))),
                   0);
        CHECK_EQ_I(listener->Listen(), 0);
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                                    MakeCallback(&Talk::Accepted, this));
        client.Take(Socket::CreateSocket(pair.nodes.Get(0), TypeId::LookupByName(Factory(a))));
        Simulator::Schedule(Seconds(pair.ipv6 ? 3 : 0.01), &Talk::Begin, this);
    }

    void Begin()
    {
        if (pair.ipv6)
            client.socket->Bind6();
        else
            client.socket->Bind();
        CHECK_EQ_I(client.socket->Connect(pair.At(1)), 0);
    }

    void Accepted(Ptr<Socket> socket, const Address &)
    {
        server.Take(socket);
        server.Room(socket, socket->GetTxAvailable());
    }

    void Check() const
    {
        CHECK_EQ_U(server.received, client.total);
        CHECK_EQ_U(client.received, server.total);
        CHECK_EQ_U(client.wrong + server.wrong, 0);
        CHECK_EQ_U(client.failed + server.failed, 0);
    }
};

void RunFor(double seconds)
{
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
}

} // namespace

/* Who talks to whom, over what. */
static const struct {
    const char *name;
    Kind client, server;
    Link link;
    uint16_t mtu;
    bool ipv6;
    double loss;
} rows[] = {
    { "tenon-tenon csma", TENON, TENON, CSMA, 1500, false, 0 },
    { "tenon-tenon p2p", TENON, TENON, P2P, 1500, false, 0 },
    { "tenon-tenon csma ip6", TENON, TENON, CSMA, 1500, true, 0 },
    { "tenon-tenon p2p ip6", TENON, TENON, P2P, 1500, true, 0 },
    { "tenon-ns3 csma", TENON, NS3, CSMA, 1500, false, 0 },
    { "tenon-ns3 p2p", TENON, NS3, P2P, 1500, false, 0 },
    { "tenon-ns3 csma ip6", TENON, NS3, CSMA, 1500, true, 0 },
    { "tenon-ns3 p2p ip6", TENON, NS3, P2P, 1500, true, 0 },
    { "ns3-tenon csma", NS3, TENON, CSMA, 1500, false, 0 },
    { "ns3-tenon p2p", NS3, TENON, P2P, 1500, false, 0 },
    { "ns3-tenon csma ip6", NS3, TENON, CSMA, 1500, true, 0 },
    { "ns3-tenon p2p ip6", NS3, TENON, P2P, 1500, true, 0 },
    { "tenon-ns3 csma mtu 576", TENON, NS3, CSMA, 576, false, 0 },
    { "ns3-tenon p2p mtu 576", NS3, TENON, P2P, 576, false, 0 },
    { "tenon-tenon p2p mtu 576", TENON, TENON, P2P, 576, false, 0 },
    { "tenon-ns3 p2p mtu 9000", TENON, NS3, P2P, 9000, false, 0 },
    { "ns3-tenon csma mtu 9000", NS3, TENON, CSMA, 9000, false, 0 },
    { "tenon-tenon csma mtu 9000", TENON, TENON, CSMA, 9000, false, 0 },
    { "tenon-tenon csma loss", TENON, TENON, CSMA, 1500, false, 0.02 },
    { "tenon-ns3 p2p loss", TENON, NS3, P2P, 1500, false, 0.02 },
    { "ns3-tenon csma loss", NS3, TENON, CSMA, 1500, false, 0.02 },
    { "ns3-tenon p2p loss ip6", NS3, TENON, P2P, 1500, true, 0.02 },
};

UNIT_TEST(transfers_both_ways_exact)
{
    for (const auto &row : rows) {
        unit_row(row.name);
        Pair pair(row.client, row.server, row.link, row.mtu, row.ipv6);
        if (row.loss > 0) {
            pair.Loss(0, row.loss);
            pair.Loss(1, row.loss);
        }
        Talk talk(pair, row.client, row.server, 1000003, 300007);
        RunFor(120);
        talk.Check();
        CHECK_EQ_U(talk.client.finished, 1);
        CHECK_EQ_U(talk.server.finished, 1);
    }
}

/* The gigabyte of the long run (make ports-long), once with ns-3's TCP at one end and once with Tenon at
 * both: over IPv4 and IPv6, both kinds of cable, from either side, both ways at the same time. */
static void LargeTransfers(uint64_t bytes)
{
    static const struct {
        const char *name;
        Kind client, server;
        Link link;
        bool ipv6;
        unsigned share;
    } large[] = {
        { "tenon-ns3 csma", TENON, NS3, CSMA, false, 8 },    { "ns3-tenon p2p", NS3, TENON, P2P, false, 8 },
        { "tenon-ns3 p2p ip6", TENON, NS3, P2P, true, 8 },   { "ns3-tenon csma ip6", NS3, TENON, CSMA, true, 8 },
        { "tenon-tenon csma", TENON, TENON, CSMA, false, 4 }, { "tenon-tenon p2p ip6", TENON, TENON, P2P, true, 4 },
    };

    for (const auto &row : large) {
        const uint64_t each = bytes / row.share;

        unit_row(row.name);
        Pair pair(row.client, row.server, row.link, 1500, row.ipv6);
        Talk talk(pair, row.client, row.server, each, each);
        RunFor(60 + static_cast<double>(each) / 1e6);
        talk.Check();
        printf("%-20s %11llu bytes each way in %.1f s of the simulator's\n", row.name,
               static_cast<unsigned long long>(each),
               std::max(talk.client.last, talk.server.last).GetSeconds());
        fflush(stdout);
    }
}

UNIT_TEST(large_transfers)
{
    LargeTransfers(std::strtoull(std::getenv("TENON_NS3_BYTES"), nullptr, 10));
}

/* ---- what else a user of ns-3 expects --------------------------------------------------------------- */

static uint32_t largest_cwnd;

static void CwndChanged(uint32_t, uint32_t cwnd)
{
    largest_cwnd = std::max(largest_cwnd, cwnd);
}

static void TraceCwnd(Ptr<BulkSendApplication> app)
{
    CHECK(app->GetSocket()->TraceConnectWithoutContext("CongestionWindow", MakeCallback(CwndChanged)));
}

UNIT_TEST(applications_of_ns3)
{
    Pair pair(TENON, TENON, P2P);
    BulkSendHelper bulk(Factory(TENON), pair.At(1));
    OnOffHelper steady(Factory(TENON), pair.At(1));
    const auto sinks = PacketSinkHelper(Factory(TENON), pair.At(1)).Install(pair.nodes.Get(1));

    largest_cwnd = 0;
    bulk.SetAttribute("MaxBytes", UintegerValue(500000));
    const auto source = bulk.Install(pair.nodes.Get(0));
    Simulator::Schedule(MilliSeconds(1), TraceCwnd, DynamicCast<BulkSendApplication>(source.Get(0)));
    steady.SetConstantRate(DataRate("1Mbps"), 1000);
    steady.SetAttribute("MaxBytes", UintegerValue(100000));
    steady.Install(pair.nodes.Get(0));
    RunFor(10);
    CHECK_EQ_U(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(), 600000);
    CHECK_EQ_U(DynamicCast<PacketSink>(sinks.Get(0))->GetAcceptedSockets().size(), 2);
    CHECK(largest_cwnd > 100000);
    CHECK_EQ_U(pair.Stack(1)->Counter(TENON_STAT_TCP_BAD_CSUM), 0);
}

/* Two cables of different kinds to one node, with a route behind the second. */
UNIT_TEST(a_node_with_two_devices)
{
    Pair pair(TENON, NS3, CSMA);
    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    const auto third = CreateObject<Node>();
    const auto devices = cable.Install(pair.nodes.Get(0), third);
    const InetSocketAddress any(Ipv4Address::GetAny(), PORT), far("10.9.0.1", PORT);
    BulkSendHelper near(Factory(TENON), pair.At(1)), away(Factory(TENON), far);

    pair.Stack(0)->AddAddress(devices.Get(0), Ipv4Address("10.1.0.1"), 24);
    pair.Stack(0)->AddRoute(devices.Get(0), Ipv4Address("10.9.0.0"), 16, Ipv4Address("10.1.0.2"));
    const auto other = TenonHelper().Install(third);
    other->AddAddress(devices.Get(1), Ipv4Address("10.1.0.2"), 24);
    other->AddAddress(devices.Get(1), Ipv4Address("10.9.0.1"), 16);
    near.SetAttribute("MaxBytes", UintegerValue(200000));
    near.Install(pair.nodes.Get(0));
    away.SetAttribute("MaxBytes", UintegerValue(100000));
    away.Install(pair.nodes.Get(0));
    const auto sinks = PacketSinkHelper(Factory(NS3), any).Install(pair.nodes.Get(1));
    const auto far_sinks = PacketSinkHelper(Factory(TENON), any).Install(third);
    RunFor(20);
    CHECK_EQ_U(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(), 200000);
    CHECK_EQ_U(DynamicCast<PacketSink>(far_sinks.Get(0))->GetTotalRx(), 100000);
    CHECK_EQ_U(pair.Stack(0)->Netif(devices.Get(0)), 2);
}

UNIT_TEST(nobody_listens)
{
    for (const Kind other : { TENON, NS3 }) {
        Pair pair(TENON, other, CSMA);
        Talk talk(pair, TENON, other, 1000, 0);

        talk.listener->Close();
        talk.listener = nullptr;
        RunFor(10);
        CHECK_EQ_U(talk.client.failed, 1);
        CHECK_EQ_U(talk.server.received, 0);
        CHECK(talk.client.socket->GetErrno() == Socket::ERROR_NOTERROR);
        CHECK_EQ_I(talk.client.socket->Send(Create<Packet>(10)), -1);
        CHECK(talk.client.socket->GetErrno() == Socket::ERROR_NOTCONN);
    }
}

/* How connections of a socket have ended. */
struct Ends {
    unsigned refused = 0, good = 0, bad = 0;

    void Take(const Ptr<Socket> &socket)
    {
        socket->SetConnectCallback(MakeNullCallback<void, Ptr<Socket>>(), MakeCallback(&Ends::Refused, this));
        socket->SetCloseCallbacks(MakeCallback(&Ends::Good, this), MakeCallback(&Ends::Bad, this));
    }

    void Refused(Ptr<Socket>)
    {
        refused++;
    }

    void Good(Ptr<Socket>)
    {
        good++;
    }

    void Bad(Ptr<Socket>)
    {
        bad++;
    }
};

/* Who has had a connection may have another one by the same socket: nothing of the first is left in it. */
UNIT_TEST(a_socket_connects_again)
{
    for (const Kind other : { TENON, NS3 }) {
        Pair pair(TENON, other, CSMA);
        Talk first(pair, TENON, other, 1000, 500);
        const Ptr<Socket> socket = first.client.socket;
        Address one, another;
        Ends ends;

        socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());    // what comes stays there
        RunFor(5);
        first.server.socket->Close();
        socket->Close();
        RunFor(300);
        CHECK_EQ_U(first.server.received, 1000);
        CHECK_EQ_U(socket->GetRxAvailable(), 500);
        CHECK_EQ_I(socket->GetSockName(one), 0);
        first.listener->Close();
        ends.Take(socket);
        CHECK_EQ_I(socket->Connect(pair.At(1)), 0);
        CHECK_EQ_U(socket->GetRxAvailable(), 0);
        CHECK(socket->Recv() == nullptr);
        CHECK_EQ_I(socket->GetPeerName(another), -1);
        RunFor(10);
        CHECK_EQ_U(ends.refused, 1);
        CHECK_EQ_U(ends.good + ends.bad, 0);

        Talk second(pair, TENON, other, 10000, 5000);
        second.client.Take(socket);
        RunFor(10);
        second.Check();
        CHECK_EQ_U(second.client.finished, 1);
        CHECK_EQ_I(socket->GetSockName(another), 0);
        CHECK(one != another);
    }
}

/* An application of the C interface: bytes go back and forth. */
struct Echo {
    unsigned returned = 0;
    Time last;
};

static void EchoReceived(tenon_tcp *conn, void *app, const tenon_span *spans, unsigned n)
{
    auto *echo = static_cast<Echo *>(app);

    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ_I(tenon_tcp_send(conn, &spans[i]), TENON_OK);
        tenon_tcp_consumed(conn, spans[i].len);
    }
    if (echo) {
        echo->returned++;
        echo->last = Simulator::Now();
    }
}

static void EchoOpened(tenon_tcp *conn, void *app)
{
    if (app)
        CHECK_EQ_I(tenon_tcp_write(conn, "ping", 4), 4);
}

UNIT_TEST(events_of_the_core)
{
    static const tenon_tcp_events events = { nullptr, EchoOpened, EchoReceived, nullptr,
                                             nullptr, nullptr,    nullptr,      nullptr };
    Pair pair(TENON, TENON, P2P);
    const tenon_addr at = { tenon_ip4_bytes(10, 0, 0, 2), 7, 0 };
    tenon_tcp_listener *listener;
    tenon_tcp *conn;
    Echo echo;

    CHECK_EQ_I(tenon_tcp_listen(pair.Stack(1)->Instance(), &listener, &at, &events, nullptr, 0), TENON_OK);
    CHECK_EQ_I(tenon_tcp_connect(pair.Stack(0)->Instance(), &conn, nullptr, &at, &events, &echo), TENON_OK);
    pair.Stack(0)->Wake();
    RunFor(1);
    /* 2 ms each way, and 58 bytes at 100 Mbit/s: 4.01 ms for each turn, and for the handshake. */
    CHECK_EQ_U(echo.returned, 248);
    CHECK(echo.last > MilliSeconds(995));
}

UNIT_TEST(an_idle_simulation_ends)
{
    Pair pair(TENON, TENON, CSMA);
    Talk talk(pair, TENON, TENON, 10000, 10000);

    alarm(30);    /* else it never would */
    Simulator::Run();
    alarm(0);
    talk.Check();
    CHECK(Simulator::Now() < Hours(1));
}

/* The instance's clock has 32 bits of microseconds: 72 minutes. */
UNIT_TEST(hours_of_silence)
{
    Pair pair(TENON, TENON, P2P);
    Talk talk(pair, TENON, TENON, 0, 10000);
    End late;

    Simulator::Schedule(Hours(7), [&] {
        talk.Check();
        talk.client.total = 60000;
        talk.client.Room(talk.client.socket, talk.client.socket->GetTxAvailable());
    });
    RunFor(8 * 3600);
    talk.Check();
    talk.client.total = 0;
    talk.server.received = talk.server.total = 0;
    late.total = 50000;
    late.Take(Socket::CreateSocket(pair.nodes.Get(0), TypeId::LookupByName(Factory(TENON))));
    /* Its first SYN is lost: a timer is needed. */
    Simulator::Schedule(Hours(7), [&] {
        pair.Loss(1, 1);
        CHECK_EQ_I(late.socket->Connect(pair.At(1)), 0);
    });
    Simulator::Schedule(Hours(7) + MilliSeconds(500), [&] { pair.Loss(1, 0); });
    RunFor(7 * 3600 + 5);
    CHECK_EQ_U(talk.server.received, late.total);
    CHECK_EQ_U(late.failed, 0);
}

/* Longer than the longest time that the core asks for at once. */
UNIT_TEST(keep_alive_after_hours)
{
    Pair pair(TENON, TENON, P2P);
    Talk talk(pair, TENON, TENON, 0, 10000);
    Time probed;

    pair.Stack(0)->TraceConnectWithoutContext(
        "Event", Callback<void, const tenon_trace_event &>([&](const tenon_trace_event &event) {
            if (event.kind == TENON_TRACE_PROBE)
                probed = Simulator::Now();
        }));
    Simulator::Schedule(Seconds(1), [&] {
        const auto socket = DynamicCast<TenonSocket>(talk.client.socket);
        CHECK_EQ_I(tenon_tcp_set(socket->Connection(), TENON_TCP_KEEPALIVE_IDLE_S, 7200), TENON_OK);
    });
    RunFor(3 * 3600);
    talk.Check();
    CHECK(probed > Seconds(7200) && probed < Seconds(7202));
}

/* A queue of the device that is full holds the instance back; nothing is dropped at home. */
UNIT_TEST(a_full_queue_of_the_device)
{
    Pair pair(TENON, TENON, P2P);
    unsigned drops = 0;

    DynamicCast<PointToPointNetDevice>(pair.devices.Get(0))->GetQueue()->SetMaxSize(QueueSize("5p"));
    DynamicCast<PointToPointNetDevice>(pair.devices.Get(0))->SetDataRate(DataRate("1Mbps"));
    pair.Stack(0)->TraceConnectWithoutContext("TxDrop",
                                              Callback<void, Ptr<const Packet>, Ptr<NetDevice>>(
                                                  [&](Ptr<const Packet>, Ptr<NetDevice>) { drops++; }));
    Talk talk(pair, TENON, TENON, 300000, 0);
    RunFor(30);
    talk.Check();
    CHECK_EQ_U(drops, 0);
    CHECK(pair.Stack(0)->Counter(TENON_STAT_TX_BUSY) > 10);
    CHECK_EQ_U(pair.Stack(0)->Counter(TENON_STAT_TCP_RETRANSMIT), 0);
}

/* What is dropped is told as it was given to the device, which puts its own header before it. */
UNIT_TEST(a_device_without_flow_control)
{
    NodeContainer nodes(2);
    PointToPointHelper cable;
    uint32_t given = 0;
    unsigned drops = 0;

    cable.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2p"));
    cable.DisableFlowControl();
    const auto devices = cable.Install(nodes);
    for (uint32_t i = 0; i < 2; i++)
        TenonHelper().Install(nodes.Get(i))->AddAddress(devices.Get(i), Ipv4Address(0x0A000001 + i), 24);
    const auto stack = nodes.Get(0)->GetObject<TenonStack>();
    stack->TraceConnectWithoutContext("Tx", Callback<void, Ptr<const Packet>, Ptr<NetDevice>>(
                                                [&](Ptr<const Packet> packet, Ptr<NetDevice>) {
                                                    given = packet->GetSize();
                                                }));
    stack->TraceConnectWithoutContext("TxDrop", Callback<void, Ptr<const Packet>, Ptr<NetDevice>>(
                                                    [&](Ptr<const Packet> packet, Ptr<NetDevice>) {
                                                        drops++;
                                                        CHECK_EQ_U(packet->GetSize(), given);
                                                    }));
    BulkSendHelper bulk(Factory(TENON), InetSocketAddress("10.0.0.2", PORT));
    bulk.SetAttribute("MaxBytes", UintegerValue(100000));
    bulk.Install(nodes.Get(0));
    const auto sinks = PacketSinkHelper(Factory(TENON), InetSocketAddress(Ipv4Address::GetAny(), PORT))
                           .Install(nodes.Get(1));
    RunFor(60);
    CHECK_EQ_U(DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(), 100000);
    CHECK(drops > 0);
    Simulator::Destroy();
}

/* What listens must end with Close(), or the core would know a socket that nobody has any more. */
UNIT_TEST(a_socket_listens_once)
{
    Pair pair(TENON, TENON, P2P);
    Ptr<Socket> listener = Socket::CreateSocket(pair.nodes.Get(1), TypeId::LookupByName(Factory(TENON)));
    const auto client = Socket::CreateSocket(pair.nodes.Get(0), TypeId::LookupByName(Factory(TENON)));
    Address first;
    Ends ends;

    CHECK_EQ_I(listener->Listen(), 0);
    CHECK_EQ_I(listener->GetSockName(first), 0);
    CHECK_EQ_I(listener->Listen(), -1);
    CHECK(listener->GetErrno() == Socket::ERROR_INVAL);
    listener->Close();
    listener = nullptr;
    ends.Take(client);
    CHECK_EQ_I(client->Connect(InetSocketAddress("10.0.0.2", InetSocketAddress::ConvertFrom(first).GetPort())), 0);
    RunFor(10);
    CHECK_EQ_U(ends.refused, 1);
}

/* A device whose plug can be pulled. */
class PlugDevice : public SimpleNetDevice
{
public:
    void Plug(bool in)
    {
        m_in = in;
        m_changed();
    }

    bool IsLinkUp() const override
    {
        return m_in;
    }

    void AddLinkChangeCallback(Callback<void> callback) override
    {
        m_changed.ConnectWithoutContext(callback);
    }

private:
    TracedCallback<> m_changed;
    bool m_in = true;
};

/* An instance that has slept does not take the hours before for the time in which an address is probed
 * (RFC 5227 2.1.1, RFC 4862 5.4). */
UNIT_TEST(a_link_comes_back_after_hours)
{
    const auto device = CreateObject<PlugDevice>();
    const auto node = CreateObject<Node>();
    TenonHelper helper;
    unsigned probed = 0;

    device->SetAddress(Mac48Address::Allocate());
    device->SetChannel(CreateObject<SimpleChannel>());
    node->AddDevice(device);
    helper.SetAttribute("DuplicateAddressDetection", BooleanValue(true));
    const auto stack = helper.Install(node);
    stack->AddAddress(device, Ipv4Address("10.0.0.1"), 24);
    stack->AddAddress(device, Ipv6Address("2001:db8::1"), 64);
    Simulator::Schedule(Hours(3), [&] { device->Plug(false); });
    Simulator::Schedule(Hours(6), [&] { device->Plug(true); });
    Simulator::Schedule(Hours(6) + MilliSeconds(500), [&] {
        tenon_addr_info info;
        for (unsigned i = 0; tenon_addr_get(stack->Instance(), i, &info) == TENON_OK; i++)
            probed += info.state == TENON_ADDR_TENTATIVE;
    });
    RunFor(6 * 3600 + 1);
    CHECK_EQ_U(probed, 3);    // the link-local one too
    Simulator::Destroy();
}

/* ---- in a process of its own ------------------------------------------------------------------------- */

/* What `child` prints, and how it ends. */
static std::string InChild(const std::function<void()> &child, int *status)
{
    std::string out;
    char bytes[4096];
    int ends[2];

    fflush(stdout);
    if (!CHECK(pipe(ends) == 0))
        return out;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        child();
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
        out.append(bytes, static_cast<size_t>(n));
    close(ends[0]);
    waitpid(pid, status, 0);
    return out;
}

/* All that one node sends and gets, with the times. */
struct Record {
    uint64_t hash = 0xCBF29CE484222325, packets = 0;

    void Add(const void *bytes, size_t n)
    {
        for (size_t i = 0; i < n; i++)
            hash = (hash ^ static_cast<const uint8_t *>(bytes)[i]) * 0x100000001B3;
    }

    void Seen(Ptr<const Packet> packet, Ptr<NetDevice>)
    {
        std::vector<uint8_t> bytes(packet->GetSize());
        const int64_t now = Simulator::Now().GetNanoSeconds();

        packet->CopyData(bytes.data(), packet->GetSize());
        Add(&now, sizeof now);
        Add(bytes.data(), bytes.size());
        packets++;
    }
};

static std::string RunRecorded(uint64_t run)
{
    int status = -1;
    const auto out = InChild(
        [run] {
            RngSeedManager::SetRun(run);
            Pair pair(TENON, NS3, P2P);
            Record record;
            pair.Loss(0, 0.01);
            pair.Loss(1, 0.01);
            pair.Stack(0)->TraceConnectWithoutContext("Tx", MakeCallback(&Record::Seen, &record));
            pair.Stack(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Record::Seen, &record));
            Talk talk(pair, TENON, NS3, 1000000, 1000000);
            RunFor(60);
            printf("%016llx %llu\n", static_cast<unsigned long long>(record.hash),
                   static_cast<unsigned long long>(record.packets));
        },
        &status);

    CHECK_EQ_I(status, 0);
    CHECK(out.size() > 18);
    return out;
}

UNIT_TEST(the_same_again_to_the_last_bit)
{
    const auto first = RunRecorded(1);

    CHECK_EQ_S(RunRecorded(1).c_str(), first.c_str());
    CHECK(RunRecorded(2) != first);
}

UNIT_TEST(without_checksums_it_says_what_to_do)
{
    int status = 0;
    const auto out = InChild(
        [] {
            GlobalValue::Bind("ChecksumEnabled", BooleanValue(false));
            Pair pair(TENON, TENON, P2P);
        },
        &status);

    CHECK(status != 0);
    CHECK(out.find("ChecksumEnabled\", BooleanValue(true)") != std::string::npos);
}

int main()
{
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    if (std::getenv("TENON_NS3_BYTES")) {
        UNIT_RUN(large_transfers);
        return unit_end();
    }
    UNIT_RUN(the_same_again_to_the_last_bit);
    UNIT_RUN(without_checksums_it_says_what_to_do);
    UNIT_RUN(transfers_both_ways_exact);
    UNIT_RUN(applications_of_ns3);
    UNIT_RUN(a_node_with_two_devices);
    UNIT_RUN(nobody_listens);
    UNIT_RUN(a_socket_connects_again);
    UNIT_RUN(events_of_the_core);
    UNIT_RUN(an_idle_simulation_ends);
    UNIT_RUN(hours_of_silence);
    UNIT_RUN(keep_alive_after_hours);
    UNIT_RUN(a_full_queue_of_the_device);
    UNIT_RUN(a_device_without_flow_control);
    UNIT_RUN(a_socket_listens_once);
    UNIT_RUN(a_link_comes_back_after_hours);
    return unit_end();
}
