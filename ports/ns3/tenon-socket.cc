/* SPDX-License-Identifier: MIT */
/* ns-3's sockets over Tenon's events. */
#include "tenon-ns3.h"

#include <algorithm>

#include <ns3/abort.h>
#include <ns3/node.h>
#include <ns3/simulator.h>
#include <ns3/trace-source-accessor.h>

#include "tenon-address.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TenonSocket);
NS_OBJECT_ENSURE_REGISTERED(TenonSocketFactory);

/* In the order of struct tenon_tcp_events. */
const tenon_tcp_events TenonSocket::s_listener = { Incoming, Accepted, nullptr, nullptr, nullptr,
                                                   nullptr, nullptr, nullptr };
const tenon_tcp_events TenonSocket::s_connection = { nullptr, Opened, Received, Acked, Finished,
                                                     Closed, nullptr, nullptr };

TypeId TenonSocket::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::TenonSocket")
            .SetParent<Socket>()
            .AddTraceSource("CongestionWindow", "The congestion window in bytes",
                            MakeTraceSourceAccessor(&TenonSocket::m_cwnd), "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("SlowStartThreshold", "The slow start threshold in bytes",
                            MakeTraceSourceAccessor(&TenonSocket::m_ssthresh), "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("BytesInFlight", "Sent, and neither acknowledged nor lost",
                            MakeTraceSourceAccessor(&TenonSocket::m_inFlight), "ns3::TracedValueCallback::Uint32")
            .AddTraceSource("RTT", "The smoothed round-trip time", MakeTraceSourceAccessor(&TenonSocket::m_rtt),
                            "ns3::TracedValueCallback::Time")
            .AddTraceSource("RTO", "The retransmission timeout", MakeTraceSourceAccessor(&TenonSocket::m_rto),
                            "ns3::TracedValueCallback::Time");

    return tid;
}

TypeId TenonSocketFactory::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::TenonSocketFactory").SetParent<SocketFactory>().AddConstructor<TenonSocketFactory>();

    return tid;
}

Ptr<Socket> TenonSocketFactory::CreateSocket()
{
    const auto socket = CreateObject<TenonSocket>();

    socket->m_stack = GetObject<TenonStack>();
    return socket;
}

/* ---- errors, names -------------------------------------------------------------------------------- */

int TenonSocket::Fail(SocketErrno error) const
{
    m_errno = error;
    return -1;
}

int TenonSocket::Fail(int error) const
{
    switch (error) {
    case TENON_EAGAIN:
    case TENON_ENOMEM:
    case TENON_ELIMIT: return Fail(ERROR_AGAIN);
    case TENON_ECLOSED: return Fail(ERROR_SHUTDOWN);
    case TENON_EINUSE: return Fail(ERROR_ADDRINUSE);
    case TENON_ENOADDR: return Fail(ERROR_ADDRNOTAVAIL);
    case TENON_EUNREACH: return Fail(ERROR_NOROUTETOHOST);
    default: return Fail(ERROR_INVAL);
    }
}

Socket::SocketErrno TenonSocket::GetErrno() const
{
    return m_errno;
}

Socket::SocketType TenonSocket::GetSocketType() const
{
    return NS3_SOCK_STREAM;
}

Ptr<Node> TenonSocket::GetNode() const
{
    return m_stack->GetNode();
}

tenon_tcp *TenonSocket::Connection() const
{
    return m_conn;
}

int TenonSocket::GetSockName(Address &address) const
{
    address = TenonToSocketAddress(m_local);
    return 0;
}

int TenonSocket::GetPeerName(Address &address) const
{
    if (!m_opened)
        return Fail(ERROR_NOTCONN);
    address = TenonToSocketAddress(m_remote);
    return 0;
}

bool TenonSocket::SetAllowBroadcast(bool allow)
{
    return !allow;
}

bool TenonSocket::GetAllowBroadcast() const
{
    return false;
}

/* ---- opening and closing --------------------------------------------------------------------------- */

int TenonSocket::Bind(const Address &address)
{
    if (!TenonFromSocketAddress(&m_bound, address))
        return Fail(ERROR_AFNOSUPPORT);
    m_local = m_bound;
    return 0;
}

int TenonSocket::Bind()
{
    return 0;
}

int TenonSocket::Bind6()
{
    return 0;
}

/* Once: the core would have another listener then, and this one could not close both. */
int TenonSocket::Listen()
{
    if (m_listener || m_conn)
        return Fail(ERROR_INVAL);
    const int error = tenon_tcp_listen(m_stack->Instance(), &m_listener, &m_bound, &s_listener, this, 0);

    if (error)
        return Fail(error);
    tenon_tcp_listener_local(m_listener, &m_local);
    m_stack->m_listening.emplace_back(this);
    return 0;
}

/* Also again, after the end of a connection, of which nothing is left then. */
int TenonSocket::Connect(const Address &address)
{
    tenon_tcp *conn;
    tenon_addr to;

    if (m_conn)
        return Fail(ERROR_ISCONN);
    if (!TenonFromSocketAddress(&to, address))
        return Fail(ERROR_AFNOSUPPORT);
    const int error = tenon_tcp_connect(m_stack->Instance(), &conn, &m_bound, &to, &s_connection, this);
    if (error)
        return Fail(error);
    m_opened = m_peerFinished = false;
    m_received.clear();
    m_receivedBytes = 0;
    Attach(conn);
    m_stack->Wake();
    return 0;
}

/* From here on until Closed() the connection and its socket know each other. */
void TenonSocket::Attach(tenon_tcp *conn)
{
    tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    m_conn = conn;
    m_local = info.local;
    m_remote = info.remote;
    m_stack->m_sockets[info.id] = this;
}

int TenonSocket::Close()
{
    const Ptr<TenonSocket> self = this;
    auto &listening = m_stack->m_listening;

    if (m_listener && m_stack->m_stack)
        tenon_tcp_listener_close(m_listener);
    m_listener = nullptr;
    listening.erase(std::remove(listening.begin(), listening.end(), self), listening.end());
    if (m_conn)
        tenon_tcp_close(m_conn);
    m_stack->Wake();
    return 0;
}

/* For a listener this is said of what it will bring: those finish when their peers do. */
int TenonSocket::ShutdownSend()
{
    m_shutdownSend = true;
    if (m_conn)
        tenon_tcp_finish(m_conn);
    m_stack->Wake();
    return 0;
}

int TenonSocket::ShutdownRecv()
{
    m_shutdownRecv = true;
    return 0;
}

/* ---- data ------------------------------------------------------------------------------------------ */

uint32_t TenonSocket::GetTxAvailable() const
{
    return m_conn ? tenon_tcp_room(m_conn) : 0;
}

int TenonSocket::Send(Ptr<Packet> packet, uint32_t)
{
    const uint32_t bytes = packet->GetSize();

    if (!m_conn)
        return Fail(ERROR_NOTCONN);
    if (m_shutdownSend)
        return Fail(ERROR_SHUTDOWN);
    if (bytes > tenon_tcp_room(m_conn))
        return Fail(ERROR_MSGSIZE);
    if (bytes == 0)
        return 0;
    tenon_buf *buf = TenonBuf(bytes);
    const tenon_span span = { buf, 0, bytes };
    packet->CopyData(buf->data, bytes);
    const int error = tenon_tcp_send(m_conn, &span);
    tenon_buf_put(buf);
    m_stack->Wake();
    return error ? Fail(error) : static_cast<int>(bytes);
}

int TenonSocket::SendTo(Ptr<Packet> packet, uint32_t flags, const Address &)
{
    return Send(packet, flags);
}

uint32_t TenonSocket::GetRxAvailable() const
{
    return m_receivedBytes;
}

Ptr<Packet> TenonSocket::Recv(uint32_t maxSize, uint32_t)
{
    if (m_received.empty()) {
        m_errno = ERROR_AGAIN;
        return m_peerFinished ? Create<Packet>() : nullptr;    // an empty packet: the peer has finished
    }
    Ptr<Packet> packet = m_received.front();
    m_received.pop_front();
    if (packet->GetSize() > maxSize) {
        m_received.push_front(packet->CreateFragment(maxSize, packet->GetSize() - maxSize));
        packet = packet->CreateFragment(0, maxSize);
    }
    m_receivedBytes -= packet->GetSize();
    if (m_conn)
        tenon_tcp_consumed(m_conn, packet->GetSize());
    m_stack->Wake();
    return packet;
}

Ptr<Packet> TenonSocket::RecvFrom(uint32_t maxSize, uint32_t flags, Address &from)
{
    from = TenonToSocketAddress(m_remote);
    return Recv(maxSize, flags);
}

/* ---- events ---------------------------------------------------------------------------------------- */

tenon_verdict TenonSocket::Incoming(tenon_tcp *conn, void *app)
{
    tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    return static_cast<TenonSocket *>(app)->NotifyConnectionRequest(TenonToSocketAddress(info.remote)) ? TENON_ACCEPT
                                                                                                       : TENON_REFUSE;
}

void TenonSocket::Accepted(tenon_tcp *conn, void *app)
{
    const Ptr<TenonSocket> listener = static_cast<TenonSocket *>(app);
    const auto socket = CreateObject<TenonSocket>();

    socket->m_stack = listener->m_stack;
    socket->m_shutdownSend = listener->m_shutdownSend;
    socket->m_opened = true;
    socket->Attach(conn);
    tenon_tcp_handler(conn, &s_connection, PeekPointer(socket));
    listener->NotifyNewConnectionCreated(socket, TenonToSocketAddress(socket->m_remote));
    if (socket->GetTxAvailable() > 0)
        socket->NotifySend(socket->GetTxAvailable());
}

void TenonSocket::Opened(tenon_tcp *conn, void *app)
{
    const Ptr<TenonSocket> self = static_cast<TenonSocket *>(app);

    self->m_opened = true;
    self->NotifyConnectionSucceeded();
    if (self->m_conn == conn)
        self->NotifySend(self->GetTxAvailable());
}

void TenonSocket::Received(tenon_tcp *conn, void *app, const tenon_span *spans, unsigned n)
{
    const Ptr<TenonSocket> self = static_cast<TenonSocket *>(app);

    for (unsigned i = 0; i < n; i++) {
        if (self->m_shutdownRecv) {
            tenon_tcp_consumed(conn, spans[i].len);
            continue;
        }
        self->m_received.push_back(Create<Packet>(tenon_span_data(&spans[i]), spans[i].len));
        self->m_receivedBytes += spans[i].len;
    }
    if (!self->m_received.empty())
        self->NotifyDataRecv();
}

void TenonSocket::Acked(tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    const Ptr<TenonSocket> self = static_cast<TenonSocket *>(app);

    self->NotifyDataSent(bytes);
    if (self->m_conn == conn)
        self->NotifySend(self->GetTxAvailable());
}

void TenonSocket::Finished(tenon_tcp *conn, void *app)
{
    const Ptr<TenonSocket> self = static_cast<TenonSocket *>(app);

    self->m_peerFinished = true;
    self->NotifyNormalClose();
    if (self->m_conn == conn && self->m_shutdownSend)
        tenon_tcp_finish(conn);
}

void TenonSocket::Closed(tenon_tcp *conn, void *app, int why)
{
    const Ptr<TenonSocket> self = static_cast<TenonSocket *>(app);
    tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    self->m_conn = nullptr;
    self->m_shutdownSend = self->m_shutdownRecv = false;    // they were said of this one
    if (!self->m_stack->m_stack)
        return;    // the simulation is over
    self->m_stack->m_sockets.erase(info.id);
    if (!self->m_opened)
        self->NotifyConnectionFailed();
    else if (why != TENON_OK)
        self->NotifyErrorClose();
    else if (!self->m_peerFinished)
        self->NotifyNormalClose();
}

/* Called within the core: what is connected to these must not call into it. */
void TenonSocket::Observe(const tenon_trace_event &event)
{
    m_cwnd = event.cwnd;
    m_ssthresh = event.ssthresh;
    m_inFlight = event.in_flight;
    m_rtt = MicroSeconds(event.srtt_us);
    m_rto = MicroSeconds(event.rto_us);
}

} // namespace ns3
