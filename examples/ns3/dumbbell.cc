/* SPDX-License-Identifier: MIT */
/* A dumbbell in one process: many senders on the left, as many receivers on the right, and one bottleneck that loses
 * frames and carries cross traffic. Senders and receivers run Tenon or ns-3's own TCP, in all four combinations, with
 * ns-3's own applications.
 *
 *     sender 1 --+                                     +-- receiver 1
 *     sender 2 --+-- router ==== bottleneck ==== router --+-- receiver 2
 *       ...      |    (queue)     (loss)               |     ...
 *     cross  ----+                                     +---- cross
 *
 * Left links are CSMA, right links are point-to-point with delays from 1 to 20 ms. What happened is written as JSON,
 * which examples/ns3/run draws; `hash` covers every byte of every packet at the bottleneck, and its time. */
#include "ports/ns3/tenon-ns3.h"

#include <cstdio>
#include <functional>

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/csma-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5001;
constexpr uint32_t OTHER_NODES = 4;    // two routers, two of the cross traffic

const char *const groups[] = { "Tenon to Tenon", "Tenon to ns-3", "ns-3 to Tenon", "ns-3 to ns-3" };
constexpr uint32_t GROUPS = 4;

struct Settings {
    uint32_t nodes = 200, seed = 1, every_ms = 100, only = GROUPS;
    double seconds = 20, rate = 100, delay = 20, loss = 0.1, cross = 10;
    std::string cc = "cubic", out;
};

std::string Mbps(double rate)
{
    return std::to_string(static_cast<uint64_t>(rate * 1e6)) + "bps";
}

/* ---- what is measured -------------------------------------------------------------------------------- */

struct Sample {
    double seconds;
    uint64_t received[GROUPS];    // bytes, by the applications
    uint64_t carried;    // bytes, by the bottleneck towards the right
    uint32_t queue, cwnd[GROUPS];    // bytes; the window of the first sender of each group
};

class Observer
{
public:
    std::vector<Ptr<PacketSink>> sinks[GROUPS];
    uint64_t hash = 0xCBF29CE484222325, packets = 0, queueDrops = 0, lost = 0;
    std::vector<Sample> samples;
    Sample now = {};

    void Watch(const Settings &settings, Ptr<NetDevice> left, Ptr<NetDevice> right)
    {
        m_every = MilliSeconds(settings.every_ms);
        m_queue = DynamicCast<PointToPointNetDevice>(left)->GetQueue();
        left->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Observer::Forward, this));
        right->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Observer::Seen, this));
        right->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Observer::Lost, this));
        m_queue->TraceConnectWithoutContext("Drop", MakeCallback(&Observer::Dropped, this));
        Simulator::Schedule(m_every, &Observer::Take, this);
    }

    void WatchWindow(Ptr<Application> sender, uint32_t group)
    {
        const auto socket = DynamicCast<BulkSendApplication>(sender)->GetSocket();

        socket->TraceConnectWithoutContext(
            "CongestionWindow", Callback<void, uint32_t, uint32_t>(
                                    [this, group](uint32_t, uint32_t cwnd) { now.cwnd[group] = cwnd; }));
    }

private:
    void Seen(Ptr<const Packet> packet)
    {
        const uint32_t n = packet->GetSize();
        auto ns = static_cast<uint64_t>(Simulator::Now().GetNanoSeconds());

        m_bytes.resize(n);
        packet->CopyData(m_bytes.data(), n);
        for (; ns > 0; ns >>= 8)
            Add(static_cast<uint8_t>(ns));
        for (const uint8_t byte : m_bytes)
            Add(byte);
        packets++;
    }

    void Add(uint8_t byte)
    {
        hash = (hash ^ byte) * 0x100000001B3;    // FNV-1a
    }

    void Forward(Ptr<const Packet> packet)
    {
        now.carried += packet->GetSize();
        Seen(packet);
    }

    void Dropped(Ptr<const Packet>)
    {
        queueDrops++;
    }

    void Lost(Ptr<const Packet>)
    {
        lost++;
    }

    void Take()
    {
        now.seconds = Simulator::Now().GetSeconds();
        now.queue = m_queue->GetNBytes();
        for (uint32_t g = 0; g < GROUPS; g++) {
            now.received[g] = 0;
            for (const auto &sink : sinks[g])
                now.received[g] += sink->GetTotalRx();
        }
        samples.push_back(now);
        Simulator::Schedule(m_every, &Observer::Take, this);
    }

    Time m_every;
    Ptr<Queue<Packet>> m_queue;
    std::vector<uint8_t> m_bytes;
};

/* ---- the network -------------------------------------------------------------------------------------- */

void AddNs3Address(Ptr<NetDevice> device, const Ipv4Address &address)
{
    const auto ip = device->GetNode()->GetObject<Ipv4>();
    const uint32_t number = ip->AddInterface(device);

    ip->AddAddress(number, Ipv4InterfaceAddress(address, "255.255.255.0"));
    ip->SetUp(number);
}

void AddNs3Route(Ptr<Node> node, const char *to, const char *mask, const Ipv4Address &gateway, uint32_t interface)
{
    const auto routing = Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());

    routing->AddNetworkRouteTo(to, mask, gateway, interface);
}

/* A leaf with the address NET.2 behind its router with NET.1. */
void InstallLeaf(const Settings &settings, const NetDeviceContainer &link, const std::string &net, bool tenon)
{
    const Ipv4Address own((net + ".2").c_str()), gateway((net + ".1").c_str());
    const auto node = link.Get(0)->GetNode();

    AddNs3Address(link.Get(1), gateway);
    if (!tenon) {
        InternetStackHelper().Install(node);
        AddNs3Address(link.Get(0), own);
        AddNs3Route(node, "0.0.0.0", "0.0.0.0", gateway, 1);
        return;
    }
    TenonHelper helper;
    helper.SetAttribute("CongestionControl", StringValue(settings.cc));
    helper.SetAttribute("Ipv6", BooleanValue(false));
    const auto stack = helper.Install(node);
    stack->AddAddress(link.Get(0), own, 24);
    stack->AddRoute(link.Get(0), Ipv4Address::GetAny(), 0, gateway);
}

/* The left router is 0, the right one 1. */
NetDeviceContainer MakeBottleneck(const Settings &settings, const NodeContainer &routers)
{
    const auto queue = static_cast<uint64_t>(settings.rate * 125 * settings.delay);    // half of what is under way
    const auto loss = CreateObject<RateErrorModel>();
    PointToPointHelper cable;

    cable.SetDeviceAttribute("DataRate", StringValue(Mbps(settings.rate)));
    cable.DisableFlowControl();    // what does not fit is lost in the queue, not before it
    cable.SetChannelAttribute("Delay", TimeValue(MicroSeconds(static_cast<uint64_t>(settings.delay * 1000))));
    cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "B"));
    const auto devices = cable.Install(routers);
    InternetStackHelper().Install(routers);
    AddNs3Address(devices.Get(0), "10.0.0.1");
    AddNs3Address(devices.Get(1), "10.0.0.2");
    AddNs3Route(routers.Get(0), "10.2.0.0", "255.255.0.0", "10.0.0.2", 1);
    AddNs3Route(routers.Get(1), "10.1.0.0", "255.255.0.0", "10.0.0.1", 1);
    loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    loss->SetRate(settings.loss / 100);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(loss));
    return devices;
}

/* A sender and its receiver. @return the sender's node and the receiver's */
NodeContainer MakePair(const Settings &settings, const NodeContainer &routers, uint32_t number, uint32_t group)
{
    const std::string left = "10.1." + std::to_string(number), right = "10.2." + std::to_string(number);
    CsmaHelper near;
    PointToPointHelper far;
    NodeContainer nodes(2);

    near.SetChannelAttribute("DataRate", StringValue("100Mbps"));
    near.SetChannelAttribute("Delay", TimeValue(MicroSeconds(5)));
    far.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    far.SetChannelAttribute("Delay", TimeValue(MilliSeconds(1 + number * 7 % 20)));
    InstallLeaf(settings, near.Install(NodeContainer(nodes.Get(0), routers.Get(0))), left, group < 2);
    InstallLeaf(settings, far.Install(nodes.Get(1), routers.Get(1)), right, group % 2 == 0);
    return nodes;
}

/* ---- the traffic -------------------------------------------------------------------------------------- */

void AddFlow(Observer &observer, const NodeContainer &nodes, uint32_t number, uint32_t group, double start)
{
    const char *const tenon = "ns3::TenonSocketFactory", *const own = "ns3::TcpSocketFactory";
    const InetSocketAddress to(("10.2." + std::to_string(number) + ".2").c_str(), PORT);
    BulkSendHelper source(group < 2 ? tenon : own, to);

    source.SetAttribute("MaxBytes", UintegerValue(0));
    source.SetAttribute("SendSize", UintegerValue(1448));
    auto sender = source.Install(nodes.Get(0));
    sender.Start(Seconds(start));
    const auto sink = PacketSinkHelper(group % 2 == 0 ? tenon : own, InetSocketAddress(Ipv4Address::GetAny(), PORT))
                          .Install(nodes.Get(1));
    observer.sinks[group].push_back(DynamicCast<PacketSink>(sink.Get(0)));
    if (observer.sinks[group].size() == 1)
        Simulator::Schedule(Seconds(start) + MicroSeconds(1), &Observer::WatchWindow, &observer, sender.Get(0), group);
}

/* UDP that comes and goes, by ns-3's own stack: so many Mbit/s, half of the time. */
void AddCross(const Settings &settings, const NodeContainer &nodes, uint32_t number)
{
    OnOffHelper source("ns3::UdpSocketFactory",
                       InetSocketAddress(("10.2." + std::to_string(number) + ".2").c_str(), PORT));

    if (settings.cross <= 0)
        return;
    source.SetConstantRate(DataRate(Mbps(settings.cross)), 1000);
    source.SetAttribute("OnTime", StringValue("ns3::ExponentialRandomVariable[Mean=0.5]"));
    source.SetAttribute("OffTime", StringValue("ns3::ExponentialRandomVariable[Mean=0.5]"));
    source.Install(nodes.Get(0));
    PacketSinkHelper("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT)).Install(nodes.Get(1));
}

/* ---- the result --------------------------------------------------------------------------------------- */

void WriteList(FILE *out, const char *name, const Observer &observer,
               const std::function<double(const Sample &)> &value)
{
    fprintf(out, "%s[", name);
    for (size_t i = 0; i < observer.samples.size(); i++)
        fprintf(out, "%s%.10g", i ? ", " : "", value(observer.samples[i]));
    fprintf(out, "]");
}

void Write(FILE *out, const Settings &settings, const Observer &observer)
{
    fprintf(out, "{\"nodes\": %u, \"rate\": %g, \"loss\": %g, \"seconds\": %g, \"seed\": %u", settings.nodes,
            settings.rate, settings.loss, settings.seconds, settings.seed);
    fprintf(out, ",\n\"hash\": \"%016llx\", \"packets\": %llu, \"queue_drops\": %llu, \"lost\": %llu",
            static_cast<unsigned long long>(observer.hash), static_cast<unsigned long long>(observer.packets),
            static_cast<unsigned long long>(observer.queueDrops), static_cast<unsigned long long>(observer.lost));
    WriteList(out, ",\n\"time\": ", observer, [](const Sample &s) { return s.seconds; });
    WriteList(out, ",\n\"carried\": ", observer, [](const Sample &s) { return double(s.carried); });
    WriteList(out, ",\n\"queue\": ", observer, [](const Sample &s) { return double(s.queue); });
    fprintf(out, ",\n\"groups\": {");
    for (uint32_t g = 0; g < GROUPS; g++) {
        fprintf(out, "%s\n\"%s\": {", g ? "," : "", groups[g]);
        WriteList(out, "\"received\": ", observer, [g](const Sample &s) { return double(s.received[g]); });
        WriteList(out, ",\n\"cwnd\": ", observer, [g](const Sample &s) { return double(s.cwnd[g]); });
        fprintf(out, ",\n\"flows\": [");
        for (const auto &sink : observer.sinks[g])
            fprintf(out, "%s%llu", sink == observer.sinks[g].front() ? "" : ", ",
                    static_cast<unsigned long long>(sink->GetTotalRx()));
        fprintf(out, "]}");
    }
    fprintf(out, "}}\n");
}

bool Read(Settings &settings, int argc, char **argv)
{
    CommandLine line(__FILE__);

    line.AddValue("nodes", "all of them: two routers, two of the cross traffic, senders and receivers", settings.nodes);
    line.AddValue("seconds", "of simulated time", settings.seconds);
    line.AddValue("rate", "Mbit/s of the bottleneck", settings.rate);
    line.AddValue("delay", "ms of the bottleneck, one way", settings.delay);
    line.AddValue("loss", "% of the frames at the bottleneck, by chance", settings.loss);
    line.AddValue("cross", "Mbit/s of cross traffic, while there is some", settings.cross);
    line.AddValue("cc", "congestion control of Tenon's senders", settings.cc);
    line.AddValue("only", "one combination for all flows: 0 to 3, in the order of the result", settings.only);
    line.AddValue("every", "ms between two samples", settings.every_ms);
    line.AddValue("seed", "of all chance", settings.seed);
    line.AddValue("out", "a file for the result; else it is printed", settings.out);
    line.Parse(argc, argv);
    return settings.nodes >= OTHER_NODES + 2 * GROUPS && settings.nodes <= OTHER_NODES + 2 * 250;
}

} // namespace

int main(int argc, char **argv)
{
    Settings settings;
    Observer observer;
    NodeContainer routers;

    if (!Read(settings, argc, argv)) {
        fprintf(stderr, "dumbbell: --nodes=12 to 504\n");
        return 2;
    }
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    RngSeedManager::SetRun(settings.seed);
    const auto starts = CreateObject<UniformRandomVariable>();
    routers.Create(2);
    const auto bottleneck = MakeBottleneck(settings, routers);
    observer.Watch(settings, bottleneck.Get(0), bottleneck.Get(1));
    for (uint32_t i = 0; i < (settings.nodes - OTHER_NODES) / 2; i++) {
        const uint32_t group = settings.only < GROUPS ? settings.only : i % GROUPS;

        AddFlow(observer, MakePair(settings, routers, i + 1, group), i + 1, group, starts->GetValue(0, 1));
    }
    AddCross(settings, MakePair(settings, routers, 251, GROUPS - 1), 251);
    Simulator::Stop(Seconds(settings.seconds));
    Simulator::Run();
    FILE *out = settings.out.empty() ? stdout : fopen(settings.out.c_str(), "w");
    if (!out) {
        perror(settings.out.c_str());
        return 1;
    }
    Write(out, settings, observer);
    const bool written = fflush(out) == 0;
    Simulator::Destroy();
    return written ? 0 : 1;
}
