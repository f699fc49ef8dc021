/* SPDX-License-Identifier: MIT */
/* The smallest scenario: Tenon sends a million bytes to ns-3's own TCP over a cable that loses a packet in a hundred,
 * and the congestion window is printed. docs/guide/ns3.md goes through it. */
#include "ports/ns3/tenon-ns3.h"

#include <iostream>

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

using namespace ns3;

static void Window(uint32_t, uint32_t bytes)
{
    std::cout << Simulator::Now().GetSeconds() << " s: window " << bytes << '\n';
}

/* The application makes its socket when it starts. */
static void Watch(Ptr<BulkSendApplication> source)
{
    source->GetSocket()->TraceConnectWithoutContext("CongestionWindow", MakeCallback(Window));
}

int main()
{
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));

    NodeContainer nodes(2);
    PointToPointHelper cable;
    cable.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    cable.SetChannelAttribute("Delay", StringValue("20ms"));
    NetDeviceContainer devices = cable.Install(nodes);
    Ptr<RateErrorModel> loss = CreateObject<RateErrorModel>();
    loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    loss->SetRate(0.01);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(loss));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ptr<TenonStack> tenon = TenonHelper().Install(nodes.Get(0));
    tenon->AddAddress(devices.Get(0), addresses.NewAddress(), 24);    // 10.0.0.1

    InternetStackHelper().Install(nodes.Get(1));
    Ipv4InterfaceContainer other = addresses.Assign(devices.Get(1));    // 10.0.0.2

    BulkSendHelper source("ns3::TenonSocketFactory", InetSocketAddress(other.GetAddress(0), 5001));
    source.SetAttribute("MaxBytes", UintegerValue(1000000));
    ApplicationContainer sender = source.Install(nodes.Get(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    ApplicationContainer receiver = sink.Install(nodes.Get(1));
    Simulator::Schedule(MicroSeconds(1), Watch, DynamicCast<BulkSendApplication>(sender.Get(0)));

    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(receiver.Get(0))->GetTotalRx() << " bytes have arrived, "
              << tenon->Counter(TENON_STAT_TCP_RETRANSMIT) << " segments were sent twice\n";
    Simulator::Destroy();
    return 0;
}
