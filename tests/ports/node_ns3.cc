/* SPDX-License-Identifier: MIT */
/* Nodes of ns-3 with the port ns3 on them, in the simulator's time:
 *
 *     tenon-port-check-ns3 ns3:csma,mtu=9000,loss=1000 ns3:csma,mtu=9000 --lossy
 *     tenon-port-check-ns3 ns3:p2p ns3:p2p --once
 *     tenon-port-check-ns3 ns3:plug ns3:plug --flap now
 *
 * The two devices are on one channel. A side that is closed is a node whose cable is pulled: the simulator
 * has no end of a node but its own. One that is opened again is a new node, with the addresses of the one
 * before; a point-to-point channel has room for none. */
#include "ports/ns3/tenon-ns3.h"

#include <cstring>
#include <vector>

#include <ns3/core-module.h>
#include <ns3/csma-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/simple-channel.h>
#include <ns3/simple-net-device.h>

/* A struct and a function of one name are C's. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "node.h"
#pragma GCC diagnostic pop

using namespace ns3;

namespace
{

constexpr unsigned TURN_US = 200, FLAP_MS = 200, SETTING_LOSS = 0, MTU_DEFAULT = 1500;

const port_setting settings[] = { { "loss", PORT_NUMBER, "PPM", "frames lost on the way to this end" },
                                  { nullptr, PORT_NUMBER, nullptr, nullptr } };
const port_type type = { "ns3", "csma|p2p|plug", "a device of the simulator", settings, 1, 0, 0, nullptr,
                         nullptr, nullptr, nullptr, nullptr, nullptr };
const port_type *const types[] = { &type, nullptr };

/* The devices of ns-3 never say that their link has gone. This one does, while its plug is pulled. */
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
        return m_in && SimpleNetDevice::IsLinkUp();
    }

    void AddLinkChangeCallback(Callback<void> callback) override
    {
        m_changed.ConnectWithoutContext(callback);
    }

    bool Send(Ptr<Packet> packet, const Address &to, uint16_t protocol) override
    {
        return SendFrom(packet, GetAddress(), to, protocol);
    }

    bool SendFrom(Ptr<Packet> packet, const Address &from, const Address &to, uint16_t protocol) override
    {
        return m_in && SimpleNetDevice::SendFrom(packet, from, to, protocol);
    }

private:
    TracedCallback<> m_changed;
    bool m_in = true;
};

struct End {
    Ptr<NetDevice> device;
    Ptr<TenonStack> stack;
    Ptr<RateErrorModel> errors;
    double loss = 0;
};

End ends[2];
Ptr<CsmaChannel> channel;
Ptr<SimpleChannel> wires;    // between plugs
NetDeviceContainer cable;    // point-to-point: both ends come at once
std::vector<Ptr<Node>> gone;    // what they have begun goes on until the simulator ends

Mac48Address MacOf(unsigned number)
{
    const uint8_t mac[] = { 2, 0, 0, 0, 0, static_cast<uint8_t>(number + 1) };
    Mac48Address address;

    address.CopyFrom(mac);
    return address;
}

Ptr<NetDevice> CsmaDevice(const Ptr<Node> &node, unsigned number)
{
    CsmaHelper helper;

    if (!channel)
        channel = CreateObjectWithAttributes<CsmaChannel>("DataRate", StringValue("1Gbps"), "Delay",
                                                          TimeValue(MicroSeconds(5)));
    const auto device = helper.Install(node, channel).Get(0);
    device->SetAddress(MacOf(number));
    return device;
}

Ptr<NetDevice> PluggedDevice(const Ptr<Node> &node, unsigned number)
{
    const auto device = CreateObject<PlugDevice>();
    const auto queue = CreateObjectWithAttributes<DropTailQueue<Packet>>("MaxSize", StringValue("10000p"));

    if (!wires)
        wires = CreateObjectWithAttributes<SimpleChannel>("Delay", TimeValue(MicroSeconds(5)));
    device->SetAttribute("DataRate", StringValue("1Gbps"));
    device->SetAddress(MacOf(number));
    device->SetChannel(wires);
    device->SetQueue(queue);    // it cannot tell that it is full
    node->AddDevice(device);
    return device;
}

Ptr<NetDevice> P2pDevice(unsigned number)
{
    PointToPointHelper helper;
    NodeContainer nodes;

    if (cable.GetN() == 0) {
        helper.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        helper.SetChannelAttribute("Delay", TimeValue(MicroSeconds(5)));
        nodes.Create(2);
        cable = helper.Install(nodes);
    }
    return cable.Get(number);
}

void Loss(const End &end, double rate)
{
    end.errors->SetRate(rate);
}

/* The link of both ends goes, or is back: a device that cannot say so loses everything meanwhile. */
void Link(bool up)
{
    for (const End &end : ends)
        if (const auto plug = DynamicCast<PlugDevice>(end.device))
            plug->Plug(up);
        else
            Loss(end, up ? end.loss : 1);
}

/* Whether the instances know that their link is so, as far as their devices can say it. */
bool LinkIs(bool up)
{
    for (const End &end : ends) {
        tenon_netif_info info;

        if (tenon_netif_get(end.stack->Instance(), end.stack->Netif(end.device), &info) != TENON_OK ||
            (info.up != 0) != (up || !DynamicCast<PlugDevice>(end.device)))
            return false;
    }
    return true;
}

/* Nobody looks after the instances meanwhile: what wakes them is their own timers, and the devices. */
void Run(unsigned us)
{
    Simulator::Stop(MicroSeconds(us));
    Simulator::Run();
}

} // namespace

const int node_queues_end = 0;

unsigned long check_ms(void)
{
    return static_cast<unsigned long>(Simulator::Now().GetMilliSeconds());
}

static int begin(struct node *node, End &end)
{
    const struct side *side = node->side;
    tenon_conf &conf = end.stack->Conf();

    conf.neighbour_queue_max = 64;
    conf.tcp_msl_ms = 100;
    node->netif = end.stack->Netif(end.device);
    node->stack = end.stack->Instance();
    for (unsigned v6 = 0; v6 <= (end.device->GetMtu() >= 1280); v6++)
        if (tenon_addr_add(node->stack, node->netif, &side->ip[v6], v6 ? 64 : 24) != TENON_OK)
            return node_fail(node, "an address is refused");
    return node_serve(node);
}

int side_open(struct side *side, unsigned number, const char *port, unsigned queues)
{
    End &end = ends[number];

    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    if (side_init(side, number, port, queues, types) != 0)
        return -1;
    const port_conf &conf = side->choice.conf;
    const bool p2p = std::strcmp(conf.name, "p2p") == 0, plug = std::strcmp(conf.name, "plug") == 0;
    if (queues > 1)
        return node_fail(&side->nodes[0], "it has one queue");
    if (!p2p && !plug && std::strcmp(conf.name, "csma") != 0)
        return node_fail(&side->nodes[0], "its channel is csma, p2p or plug");
    if (p2p)
        end.device = P2pDevice(number);
    else
        end.device = plug ? PluggedDevice(CreateObject<Node>(), number) : CsmaDevice(CreateObject<Node>(), number);
    end.device->SetMtu(static_cast<uint16_t>(conf.mtu > 0 ? conf.mtu : MTU_DEFAULT));
    end.loss = conf.values[SETTING_LOSS] / 1e6;
    end.errors = CreateObject<RateErrorModel>();
    end.errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    Loss(end, end.loss);
    end.device->SetAttribute("ReceiveErrorModel", PointerValue(end.errors));
    end.stack = TenonHelper().Install(end.device->GetNode());
    return begin(&side->nodes[0], end);
}

void side_close(struct side *side)
{
    End &end = ends[side->number];

    if (end.device == nullptr)
        return;
    gone.push_back(end.device->GetNode());
    if (const auto csma = DynamicCast<CsmaNetDevice>(end.device))
        channel->Detach(csma);
    if (const auto plug = DynamicCast<PlugDevice>(end.device))
        plug->Plug(false);
    end = End();
}

void node_netif_conf(const struct node *node, struct tenon_netif_conf *conf)
{
    const End &end = ends[node->side->number];

    std::memset(conf, 0, sizeof *conf);
    conf->mtu = end.device->GetMtu();
    if (end.device->NeedsArp())
        Mac48Address::ConvertFrom(end.device->GetAddress()).CopyTo(conf->mac);
    else
        conf->caps = TENON_CAP_NO_LINK;
}

/* As an Ethernet frame, whatever the device makes of it. A point-to-point device ends the program when it is given
 * what it has no number for. */
unsigned node_transmit(const struct node *node, const struct tenon_frame *frame)
{
    const End &end = ends[node->side->number];
    const tenon_span &span = frame->spans[0];
    const uint8_t *bytes = tenon_span_data(&span);
    Mac48Address to, from;

    if (span.len < 14 || span.len > 14u + end.device->GetMtu())
        return 1;    // nothing that a device could be asked to send
    const auto protocol = static_cast<uint16_t>(bytes[12] << 8 | bytes[13]);
    if (!end.device->NeedsArp() && protocol != 0x0800 && protocol != 0x86DD)
        return 1;
    to.CopyFrom(bytes);
    from.CopyFrom(bytes + 6);
    const auto packet = Create<Packet>(bytes + 14, span.len - 14);
    return end.device->NeedsArp() ? end.device->SendFrom(packet, from, to, protocol)
                                  : end.device->Send(packet, end.device->GetBroadcast(), protocol);
}

struct tenon *node_enter(const struct node *node)
{
    return ends[node->side->number].stack->Instance();
}

void node_wake(const struct node *node)
{
    ends[node->side->number].stack->Wake();
}

void node_poll(const struct node *node)
{
    node_wake(node);
    Run(TURN_US);
    (void)node_enter(node);
}

/* Who is deaf hears all the same: there is no node that nobody serves. */
void check_turn(struct check *)
{
    Run(TURN_US);
}

int check_flap(struct check *, const char *)
{
    Link(false);
    Run(FLAP_MS * 1000);
    if (!LinkIs(false))
        return -1;
    Link(true);
    Run(FLAP_MS * 1000);
    return LinkIs(true) ? 0 : -1;
}
