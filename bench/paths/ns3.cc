/* SPDX-License-Identifier: MIT */
/* A point of the map of behaviour in ns-3, with Tenon or ns-3's own TCP at both ends: transfers one after the other,
 * each on a connection of its own and an empty path, from the SYN to the last byte at the receiver.
 *
 *     tenon-paths-ns3 --stack=tenon --rtt=50 --rate=10 --loss=1 --size=100000 --n=50
 *
 * Prints one line of JSON. The path is that of tenon-paths kind=short (docs/guide/paths.md), but for two things: a
 * frame that is lost by chance has passed the bottleneck before, and headers of the link are of another size, for which
 * the rate makes up. */
#include "ports/ns3/tenon-ns3.h"

#include <algorithm>
#include <cstdio>

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5001;
constexpr double FRAME = 1514, PPP_FRAME = 1502, PAYLOAD = 1448;
constexpr uint32_t CHUNK = 14480, BUFFER = 64 << 20, QUEUE_FRAMES_MIN = 8;

struct Cell {
    std::string stack = "tenon", cc = "cubic";
    double rtt = 50, rate = 10, loss = 0, buffer = 1;
    uint32_t size = 100000, n = 1, seed = 1;
};

/* One transfer after the other. */
class Transfers
{
public:
    Transfers(const Cell &cell, Ptr<Node> from, Ptr<Node> to, const char *factory)
        : m_cell(cell), m_from(from), m_factory(TypeId::LookupByName(factory))
    {
        m_listener = Socket::CreateSocket(to, m_factory);
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                                      MakeCallback(&Transfers::Accepted, this));
        m_pause->SetStream(1000);
        Simulator::Schedule(Seconds(1), &Transfers::Begin, this);
    }

    const std::vector<double> &Milliseconds() const
    {
        return m_ms;
    }

private:
    void Begin()
    {
        m_sent = m_received = 0;
        m_began = Simulator::Now();
        m_socket = Socket::CreateSocket(m_from, m_factory);
        m_socket->SetSendCallback(MakeCallback(&Transfers::Room, this));
        m_socket->SetConnectCallback(MakeCallback(&Transfers::Opened, this), MakeNullCallback<void, Ptr<Socket>>());
        m_socket->Bind();
        m_socket->Connect(InetSocketAddress("10.0.2.2", PORT));
        if (const auto tenon = DynamicCast<TenonSocket>(m_socket))
            tenon_tcp_set(tenon->Connection(), TENON_TCP_NODELAY, 1);    // as ns-3's is by default
    }

    void Opened(Ptr<Socket> socket)
    {
        Room(socket, socket->GetTxAvailable());
    }

    void Room(Ptr<Socket> socket, uint32_t)
    {
        while (socket == m_socket && m_sent < m_cell.size) {
            const uint32_t n = std::min(CHUNK, m_cell.size - m_sent);

            if (socket->GetTxAvailable() < n || socket->Send(Create<Packet>(n)) != static_cast<int>(n))
                return;
            m_sent += n;
            if (m_sent == m_cell.size)
                socket->Close();
        }
    }

    void Accepted(Ptr<Socket> socket, const Address &)
    {
        socket->SetRecvCallback(MakeCallback(&Transfers::Received, this));
        socket->SetCloseCallbacks(MakeCallback(&Transfers::Finished, this), MakeNullCallback<void, Ptr<Socket>>());
    }

    void Received(Ptr<Socket> socket)
    {
        while (const auto packet = socket->Recv()) {
            if (packet->GetSize() == 0)
                return;
            m_received += packet->GetSize();
            if (m_received == m_cell.size)
                Ended();
        }
    }

    void Finished(Ptr<Socket> socket)
    {
        socket->Close();
    }

    /* The path is empty for some round trips, and the phase never the same. */
    void Ended()
    {
        m_ms.push_back((Simulator::Now() - m_began).GetSeconds() * 1000);
        if (m_ms.size() < m_cell.n)
            Simulator::Schedule(MilliSeconds(1) * (m_cell.rtt * (6 + m_pause->GetValue())), &Transfers::Begin, this);
        else
            Simulator::Stop();
    }

    const Cell &m_cell;
    Ptr<Node> m_from;
    TypeId m_factory;
    Ptr<Socket> m_listener, m_socket;
    Ptr<UniformRandomVariable> m_pause = CreateObject<UniformRandomVariable>();
    uint32_t m_sent = 0, m_received = 0;
    Time m_began;
    std::vector<double> m_ms;
};

void AddNs3Address(Ptr<NetDevice> device, const char *address)
{
    const auto ip = device->GetNode()->GetObject<Ipv4>();
    const uint32_t number = ip->AddInterface(device);

    ip->AddAddress(number, Ipv4InterfaceAddress(address, "255.255.255.0"));
    ip->SetUp(number);
}

/* An end of the path, and its way to the network that is not its own. */
void InstallEnd(const Cell &cell, Ptr<NetDevice> device, const char *address, const char *beyond, const char *gateway)
{
    const auto node = device->GetNode();

    if (cell.stack == "ns3") {
        InternetStackHelper().Install(node);
        AddNs3Address(device, address);
        Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->AddNetworkRouteTo(
            beyond, "255.255.255.0", gateway, 1);
        return;
    }
    TenonHelper helper;
    helper.SetAttribute("CongestionControl", StringValue(cell.cc));
    helper.SetAttribute("SndBuf", UintegerValue(BUFFER));
    helper.SetAttribute("RcvBuf", UintegerValue(BUFFER));
    const auto stack = helper.Install(node);
    stack->AddAddress(device, Ipv4Address(address), 24);
    stack->AddRoute(device, Ipv4Address(beyond), 24, Ipv4Address(gateway));
}

/* sender -- router -- receiver; the second cable is the bottleneck. */
NodeContainer MakePath(const Cell &cell)
{
    const double bdp = cell.rate * 125 * cell.rtt;
    const auto queue = static_cast<uint32_t>(std::max(cell.buffer * bdp, QUEUE_FRAMES_MIN * FRAME) + FRAME);
    PointToPointHelper fast, slow;
    NodeContainer nodes(3);

    fast.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    fast.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    slow.SetDeviceAttribute("DataRate",
                            DataRateValue(DataRate(static_cast<uint64_t>(cell.rate * 1e6 * PPP_FRAME / FRAME))));
    slow.DisableFlowControl();    // what does not fit is lost in the queue, not before it
    slow.SetChannelAttribute("Delay", TimeValue(MicroSeconds(1) * (cell.rtt * 500)));
    slow.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "B"));
    const auto near = fast.Install(nodes.Get(0), nodes.Get(1)), far = slow.Install(nodes.Get(1), nodes.Get(2));
    InternetStackHelper().Install(nodes.Get(1));
    AddNs3Address(near.Get(1), "10.0.1.1");
    AddNs3Address(far.Get(0), "10.0.2.1");
    InstallEnd(cell, near.Get(0), "10.0.1.2", "10.0.2.0", "10.0.1.1");
    InstallEnd(cell, far.Get(1), "10.0.2.2", "10.0.1.0", "10.0.2.1");
    if (cell.loss > 0) {
        const auto model = CreateObject<RateErrorModel>();

        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(cell.loss / 100);
        far.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }
    return nodes;
}

void SetDefaults(const Cell &cell)
{
    const std::string cc = cell.cc == "newreno" ? "NewReno" : cell.cc == "bbr" ? "Bbr" : "Cubic";

    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    RngSeedManager::SetRun(cell.seed);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(static_cast<uint32_t>(PAYLOAD)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(BUFFER));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(BUFFER));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::Tcp" + cc)));
}

} // namespace

int main(int argc, char **argv)
{
    Cell cell;
    CommandLine line(__FILE__);

    line.AddValue("stack", "tenon or ns3, at both ends", cell.stack);
    line.AddValue("cc", "cubic, newreno or bbr", cell.cc);
    line.AddValue("rtt", "ms, of an empty path", cell.rtt);
    line.AddValue("rate", "Mbit/s of the bottleneck", cell.rate);
    line.AddValue("loss", "% of the frames towards the receiver", cell.loss);
    line.AddValue("buffer", "bandwidth-delay products, at least 8 frames", cell.buffer);
    line.AddValue("size", "bytes of a transfer", cell.size);
    line.AddValue("n", "how many of them", cell.n);
    line.AddValue("seed", "of all chance", cell.seed);
    line.Parse(argc, argv);
    if ((cell.stack != "tenon" && cell.stack != "ns3") ||
        (cell.cc != "cubic" && cell.cc != "newreno" && cell.cc != "bbr")) {
        fprintf(stderr, "--stack is tenon or ns3, --cc cubic, newreno or bbr\n");
        return 2;
    }
    SetDefaults(cell);
    const auto nodes = MakePath(cell);
    const Transfers transfers(cell, nodes.Get(0), nodes.Get(2),
                              cell.stack == "ns3" ? "ns3::TcpSocketFactory" : "ns3::TenonSocketFactory");
    Simulator::Stop(Seconds(300.0 * cell.n));
    Simulator::Run();
    auto ms = transfers.Milliseconds();
    const size_t done = ms.size();
    std::sort(ms.begin(), ms.end());
    double sum = 0;
    for (const double each : ms)
        sum += each;
    printf("{\"stack\": \"%s\", \"cc\": \"%s\", \"rtt\": %g, \"rate\": %g, \"loss\": %g, \"size\": %u, \"n\": %u",
           cell.stack.c_str(), cell.cc.c_str(), cell.rtt, cell.rate, cell.loss, cell.size, cell.n);
    if (done > 0)
        printf(", \"mean_ms\": %.4f, \"median_ms\": %.4f, \"p95_ms\": %.4f, \"max_ms\": %.4f",
               sum / static_cast<double>(done), ms[done / 2], ms[done * 95 / 100], ms[done - 1]);
    printf(", \"best_ms\": %.4f, \"unfinished\": %u}\n",
           1.5 * cell.rtt + cell.size / (cell.rate * 125 * PAYLOAD / FRAME), cell.n - static_cast<uint32_t>(done));
    Simulator::Destroy();
    return done == cell.n ? 0 : 1;
}
