/* SPDX-License-Identifier: MIT */
/* tenon.hpp: an instance with a host that is a class, packet memory, and results. */
#include "../unit.h"

#include <tenon/tenon.hpp>

#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

/** A machine that gives what an instance needs, as long as the test wants it to. */
class machine
{
  public:
    void *mem_get(std::size_t bytes)
    {
        if (!memory)
            return nullptr;
        blocks++;
        return std::malloc(bytes);
    }
    void mem_put(void *mem, std::size_t)
    {
        blocks--;
        std::free(mem);
    }
    unsigned buf_get(tenon_buf **bufs, unsigned n)
    {
        unsigned i = 0;

        for (; i < n; i++)
            bufs[i] = packet().release();
        return i;
    }
    unsigned transmit(unsigned netif, const tenon_frame *frames, unsigned n)
    {
        CHECK_EQ_U(netif, 1);
        for (unsigned i = 0; i < n; i++) {
            const tn::spans spans(frames[i].spans, frames[i].nspans);
            std::vector<tenon_u8> bytes(spans.bytes());

            spans.copy_to(bytes.data(), spans.bytes());
            sent.push_back(std::move(bytes));
        }
        return n;
    }
    bool entropy(void *bytes, std::size_t n)
    {
        std::memset(bytes, 0x5A, n);
        return random;
    }

    /** What arrives. */
    void hear(tn::netif netif, const std::vector<tenon_u8> &bytes, tenon_u32 now_us)
    {
        const tn::buf packet = tn::make_buf(std::vector<tenon_u8>(bytes));
        const tenon_span span = packet.span();
        tenon_frame frame = {};

        frame.spans = &span;
        frame.nspans = 1;
        CHECK(netif.input(&frame, 1, now_us).ok());
    }

    std::deque<std::vector<tenon_u8>> sent;
    long blocks = 0;
    bool memory = true, random = true;

  private:
    static tn::buf packet() { return tn::make_buf(std::vector<tenon_u8>(2048)); }
};

static tn::netif plug(tn::stack_ref stack, unsigned number)
{
    tenon_netif_conf conf = {};

    conf.mac[0] = 2;
    conf.mac[5] = static_cast<tenon_u8>(number);
    conf.mtu = 1500;
    conf.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6;
    auto netif = stack.add_netif(conf);
    CHECK(netif.ok() && netif->number() == 1);
    CHECK(netif->add_address(tn::ip4(10, 0, 0, number), 24).ok());
    CHECK(netif->add_address(tn::ip4(10, 0, 0, number), 24) == TENON_EINUSE);
    return *netif;
}

struct echo : tn::tcp<echo> {
    void received(tn::spans data)
    {
        for (const tenon_span &span : data)
            CHECK(send(span).ok());
        consumed(data.bytes());
    }
};

struct talker : tn::tcp<talker> {
    void opened() { CHECK(send(tn::make_buf(std::string("a string that becomes a packet buffer, and goes"))).ok()); }
    void received(tn::spans data)
    {
        for (const tenon_span &span : data)
            heard += tn::text_of(span);
        consumed(data.bytes());
        finish();
    }
    void closed(tn::status why) { ended = why.ok(); }
    std::string heard;
    bool ended = false;
};

/* Who has lost its peer calls again, also when it is the stack that has ended. */
struct caller : tn::tcp<caller> {
    explicit caller(tn::stack &on) : machine(on) {}
    void closed(tn::status) { again = connect(machine, tn::endpoint(tn::ip4(10, 0, 0, 2), 7)); }
    tn::stack &machine;
    tn::status again;
};

UNIT_TEST(a_stack_that_has_ended_answers_closed)
{
    machine host;
    tn::udp_handlers handlers;
    tn::stack stack = *tn::stack::make(host);
    caller caller(stack);

    (void)plug(stack, 1);
    CHECK(caller.connect(stack, tn::endpoint(tn::ip4(10, 0, 0, 2), 7)).ok());
    stack.end();
    CHECK(caller.again == TENON_ECLOSED && !caller);
    CHECK_EQ_U(stack.stat(TENON_STAT_TCP_CLOSED), 0);
    CHECK_EQ_U(stack.poll(1), 1800000000U);
    CHECK(stack.add_netif(tenon_netif_conf()).why() == TENON_ECLOSED);
    CHECK(tn::listener::serve<echo>(stack, tn::any_at(7)).why() == TENON_ECLOSED);
    CHECK(tn::udp::open(stack, handlers).why() == TENON_ECLOSED);
}

UNIT_TEST(two_instances_with_hosts_of_their_own)
{
    machine one, two;
    {
        auto made = tn::stack::make(one);
        CHECK(made.ok());
        tn::stack first, second = *tn::stack::make(two);
        first = std::move(*made);    /* moved while nothing of it exists but itself ... */
        tn::netif left = plug(first, 1), right = plug(second, 2);
        auto listener = tn::listener::serve<echo>(second, tn::any_at(7));
        talker talker;

        CHECK(listener.ok());
        CHECK(talker.connect(first, tn::endpoint(tn::ip4(10, 0, 0, 2), 7)).ok());
        tn::stack moved(std::move(first));    /* ... and with all that it has */
        CHECK(!first && moved);
        left = moved.netif_at(left.number());
        for (tenon_u32 now = 0; now < 5000000 && !talker.ended; now += 1000) {
            CHECK(moved.poll(now) <= 1800000000U);
            (void)second.poll(now);
            for (; !one.sent.empty(); one.sent.pop_front())
                two.hear(right, one.sent.front(), now);
            for (; !two.sent.empty(); two.sent.pop_front())
                one.hear(left, two.sent.front(), now);
        }
        CHECK(talker.heard == "a string that becomes a packet buffer, and goes");
        CHECK(talker.ended);
        CHECK(moved.stat(TENON_STAT_TCP_CLOSED) == 1);
        CHECK(left.info().ok() && left.info()->conf.mtu == 1500);
        CHECK(moved.netif_at(2).info().why() == TENON_EINVAL);
        CHECK(left.set_mtu(100) == TENON_EINVAL && left.set_mtu(1400).ok());
        CHECK(left.link(false).ok());
        CHECK(left.add_route(tn::ip4(0, 0, 0, 0), 0, tn::ip4(10, 0, 0, 9)).ok());
        CHECK(left.join(tn::ip4(224, 0, 0, 99)).ok() && left.leave(tn::ip4(224, 0, 0, 99)).ok());
        CHECK(left.remove_address(tn::ip4(10, 0, 0, 77)) == TENON_ENOADDR);
        CHECK(one.blocks > 0);
    }
    CHECK_EQ_I(one.blocks, 0);
    CHECK_EQ_I(two.blocks, 0);
}

UNIT_TEST(instance_that_cannot_be_made)
{
    machine machine;
    tenon_conf bad = tn::default_conf();

    bad.hop_limit = 1;
    bad.tcp_mss_min = 0xFFFF;
    CHECK(tenon_conf_check(&bad) != nullptr);
    CHECK(tn::stack::make(machine, bad).why() == TENON_EINVAL);
    machine.memory = false;
    CHECK(tn::stack::make(machine).why() == TENON_ENOMEM);
    machine.memory = true;
    machine.random = false;
    CHECK(tn::stack::make(machine).why() == TENON_EINVAL);
    CHECK_EQ_I(machine.blocks, 0);
}

UNIT_TEST(empty_instance_answers_closed_or_does_nothing)
{
    struct quiet : tn::udp_handlers {
    };
    const tenon_addr at = tn::any_at(7);
    machine machine;
    quiet quiet;
    talker talker;
    tn::stack never, ended = *tn::stack::make(machine);

    ended.end();
    for (const tn::stack *stack : { &never, &ended }) {
        CHECK(!*stack);
        CHECK_EQ_U(stack->poll(0), 1800000000U);
        CHECK_EQ_U(stack->stat(TENON_STAT_TCP_CLOSED), 0);
        CHECK(stack->add_netif(tenon_netif_conf()).why() == TENON_ECLOSED);
        CHECK(talker.connect(*stack, at) == TENON_ECLOSED && !talker);
        CHECK(tn::listener::serve<echo>(*stack, at).why() == TENON_ECLOSED);
        CHECK(tn::udp::open(*stack, quiet).why() == TENON_ECLOSED);
    }
    CHECK_EQ_I(machine.blocks, 0);
}

/* ---- packet memory ------------------------------------------------------------------------------------- */

/** Counts its own ends. */
struct counted : std::vector<unsigned char> {
    explicit counted(int &n) : std::vector<unsigned char>(100), ends(&n) {}
    counted(counted &&other) noexcept : std::vector<unsigned char>(std::move(other)),
        ends(std::exchange(other.ends, nullptr)) {}
    counted(const counted &) = delete;
    ~counted()
    {
        if (ends != nullptr)
            ++*ends;
    }
    int *ends;
};

UNIT_TEST(buffer_ends_with_its_last_owner)
{
    int ends = 0;
    {
        tn::buf one = tn::make_buf(counted(ends)), none;
        CHECK(one && one.size() == 100 && one.raw()->refs == 1);
        {
            const tn::buf other = one.share();
            const tn::kept piece(tenon_span{ one.raw(), 10, 20 });

            CHECK(one.raw()->refs == 3);
            CHECK(piece.size() == 20 && piece.text().size() == 20);
            CHECK(static_cast<const void *>(piece.text().data()) == one.data() + 10);
        }
        CHECK(one.raw()->refs == 1);
        none = std::move(one);
        CHECK(!one && one.size() == 0 && one.data() == nullptr && none.raw()->refs == 1);
        tn::buf &same = none;
        none = std::move(same);
        CHECK(none && ends == 0);
        tenon_buf_ref(none.raw());
        const tn::buf taken = tn::buf::take(none.raw());
        CHECK(none.raw()->refs == 2);
        none = tn::buf();
        CHECK(ends == 0);
    }
    CHECK_EQ_I(ends, 1);
    CHECK(tn::kept().text().empty());
    tn::kept piece(tn::make_buf(std::string("abcdef")).span());
    const tn::kept moved(std::move(piece));
    CHECK(moved.text() == "abcdef" && piece.text().empty());
    CHECK(piece.size() == 0 && piece.span().len == 0 && piece.span().off == 0);
}

UNIT_TEST(spans_together)
{
    const tn::buf bytes = tn::make_buf(std::string("abcdef"));
    const tenon_span parts[3] = { { bytes.raw(), 0, 2 }, { bytes.raw(), 2, 0 }, { bytes.raw(), 3, 3 } };
    const tn::spans spans(parts, 3);
    char text[8] = "-------";

    CHECK_EQ_U(spans.bytes(), 5);
    CHECK_EQ_U(spans.size(), 3);
    CHECK(tn::text_of(spans[2]) == "def");
    CHECK_EQ_U(spans.copy_to(text, 4), 4);
    CHECK_EQ_S(text, "abde---");
    CHECK_EQ_U(spans.copy_to(text, 7), 5);
    CHECK_EQ_S(text, "abdef--");
}

UNIT_TEST(addresses_and_results)
{
    const auto ip = tn::parse_ip("fd00::1");

    CHECK(ip.ok());
    CHECK_EQ_S(tn::ip_text(*ip).c_str(), "fd00::1");
    CHECK(std::string_view(tn::ip_text(tn::ip4(10, 0, 0, 1))) == "10.0.0.1");
    for (const char *wrong : { "", "10.0.0", "10.0.0.1 ", "10.0.0.1x", "fd00:::1" })
        CHECK(tn::parse_ip(wrong).why() == TENON_EINVAL);
    CHECK(tn::status().ok() && !tn::status(TENON_EAGAIN).ok() && tn::status(TENON_EAGAIN) != TENON_OK);
    CHECK_EQ_S(tn::status(TENON_EREFUSED).text(), tenon_error_text(TENON_EREFUSED));
    static_assert(!std::is_copy_constructible_v<tn::stack> && std::is_nothrow_move_constructible_v<tn::stack>);
    static_assert(!std::is_copy_constructible_v<tn::buf> && std::is_nothrow_move_constructible_v<tn::buf>);
    static_assert(!std::is_copy_constructible_v<tn::listener> && std::is_nothrow_move_assignable_v<tn::listener>);
    static_assert(!std::is_copy_constructible_v<tn::udp> && std::is_nothrow_move_assignable_v<tn::udp>);
    static_assert(!std::is_copy_constructible_v<echo> && std::is_nothrow_move_constructible_v<echo>);
    static_assert(sizeof(tn::conn) == sizeof(void *) && sizeof(tn::buf) == sizeof(void *));
}

int main()
{
    UNIT_RUN(a_stack_that_has_ended_answers_closed);
    UNIT_RUN(two_instances_with_hosts_of_their_own);
    UNIT_RUN(instance_that_cannot_be_made);
    UNIT_RUN(empty_instance_answers_closed_or_does_nothing);
    UNIT_RUN(buffer_ends_with_its_last_owner);
    UNIT_RUN(spans_together);
    UNIT_RUN(addresses_and_results);
    return unit_end();
}
