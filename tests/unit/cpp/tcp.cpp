/* SPDX-License-Identifier: MIT */
/* tenon.hpp: connections and listeners that are objects, over a wire. */
#include "world.hpp"

/* ---- all of new is counted ---------------------------------------------------------------------------- */

static unsigned long news;

void *operator new(std::size_t n)
{
    news++;
    return std::malloc(n);
}

void *operator new(std::size_t n, const std::nothrow_t &) noexcept
{
    news++;
    return std::malloc(n);
}

void operator delete(void *mem) noexcept
{
    std::free(mem);
}

void operator delete(void *mem, std::size_t) noexcept
{
    std::free(mem);
}

/* ---- those who take part ------------------------------------------------------------------------------- */

enum { PORT = 7, STREAM = 1000000 };

/** What sessions of a listener have lived through. */
struct book {
    int made = 0, gone = 0, closed = 0, finished = 0;
    int why = 1;
    tenon_u32 received = 0;
};

/** Sends back what it gets, in the buffers in which it came. */
class echo : public tn::tcp<echo>
{
  public:
    explicit echo(book &notes) : notes_(notes) { notes_.made++; }
    ~echo() { notes_.gone++; }

    void received(tn::spans data)
    {
        notes_.received += data.bytes();
        for (const tenon_span &span : data)
            CHECK(send(span).ok());
    }
    /* What the peer has got back need not be held against its window any more. */
    void acked(tenon_u32 bytes) { consumed(bytes); }
    void closed(tn::status why)
    {
        CHECK(!*this);
        notes_.closed++;
        notes_.why = why.code();
    }

  private:
    book &notes_;
};

/** A listener with such sessions. What a peer may have outstanding finds room on its way back. */
static tn::listener serve_echo(const world &world, book &notes)
{
    auto made = tn::listener::serve_with<echo>(world.stack(world::SERVER), tn::any_at(PORT), notes);

    CHECK(made.ok() && made->set(TENON_TCP_SND_BUF, 2 * 1048576).ok());
    return std::move(*made);
}

/** Sends a stream, half of it as copies and half in buffers of its own, and looks at each byte that returns. */
class client : public tn::tcp<client>
{
  public:
    explicit client(std::size_t bytes) : bytes_(bytes) {}

    void opened()
    {
        opens++;
        more();
    }
    void acked(tenon_u32) { more(); }
    void received(tn::spans data)
    {
        for (const tenon_span &span : data)
            for (char c : tn::text_of(span))
                wrong += c != stream_byte(back++);
        consumed(data.bytes());
    }
    void closed(tn::status said) { why = said.code(); }

    std::size_t sent = 0, back = 0;
    int opens = 0, wrong = 0, why = 1;

  private:
    void more()
    {
        while (sent < bytes_ && (sent % 2000 == 0 ? lend() : copy()))
            ;
        if (sent >= bytes_)
            finish();
    }
    bool lend()
    {
        const tn::buf bytes = tn::make_buf(stream(sent, 1000));
        const bool taken = send(bytes).ok();

        sent += taken ? 1000U : 0U;
        return taken;
    }
    bool copy()
    {
        auto taken = write(stream(sent, 2000 - sent % 2000));

        if (!taken.ok() || *taken == 0)
            return false;
        sent += *taken;
        return true;
    }

    std::size_t bytes_;
};

UNIT_TEST(stream_there_and_back_over_a_lossy_wire)
{
    book notes;
    {
        world world(10000);
        const tn::listener listener = serve_echo(world, notes);
        client client(STREAM);

        CHECK_EQ_U(listener.local().port, PORT);
        CHECK(client.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
        CHECK(client.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)) == TENON_EINVAL);
        world.run(120);
        CHECK_EQ_U(client.back, STREAM);
        CHECK_EQ_U(notes.received, STREAM);
        CHECK_EQ_I(client.wrong, 0);
        CHECK_EQ_I(client.opens, 1);
        CHECK_EQ_I(client.why, TENON_OK);
        CHECK(!client);
        CHECK_EQ_I(notes.why, TENON_OK);
    }
    CHECK_EQ_I(notes.made, 1);
    CHECK_EQ_I(notes.closed, 1);
    CHECK_EQ_I(notes.gone, 1);
}

UNIT_TEST(many_connections_each_with_its_object)
{
    book notes;
    world world;
    const tn::listener listener = serve_echo(world, notes);
    std::vector<std::unique_ptr<client>> clients;

    for (int i = 0; i < 50; i++) {
        clients.push_back(std::make_unique<client>(10000));
        CHECK(clients.back()->connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    }
    world.run(30);
    for (const auto &one : clients)
        CHECK(one->back == 10000 && one->wrong == 0 && one->why == TENON_OK);
    CHECK_EQ_I(notes.made, 50);
    CHECK_EQ_I(notes.gone, 50);
}

/* A session that has no handler at all: what comes is thrown away, and the connection ends when the peer is done. */
class sink : public tn::tcp<sink>
{
};

UNIT_TEST(handlers_that_are_left_out_are_as_null_in_c)
{
    world world;
    auto listener = tn::listener::serve<sink>(world.stack(world::SERVER), tn::any_at(PORT));
    client client(3 * STREAM);    /* more than the window: it has to open again */

    CHECK(listener.ok());
    CHECK(client.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(60);
    CHECK_EQ_U(client.sent, 3 * STREAM);
    CHECK_EQ_I(client.why, TENON_OK);
}

UNIT_TEST(no_memory_is_taken_while_data_flows)
{
    /* Sends what lies in one buffer, again and again. */
    class pump : public tn::tcp<pump>
    {
      public:
        explicit pump(const tn::buf &bytes) : bytes_(bytes) {}
        void opened() { acked(0); }
        void acked(tenon_u32)
        {
            while (send(bytes_).ok())
                ;
        }

      private:
        const tn::buf &bytes_;
    };
    book notes;
    world world;
    const tn::buf bytes = tn::make_buf(stream(0, 1000));
    const tn::listener listener = serve_echo(world, notes);
    pump pump(bytes);

    CHECK(pump.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(0.1);
    const unsigned long before = news;
    const tenon_u32 received = notes.received;
    world.run(1);
    CHECK(notes.received > received + 100000);
    CHECK_EQ_U(news, before);
}

/* ---- lifetimes ----------------------------------------------------------------------------------------- */

UNIT_TEST(destructor_closes_and_what_is_queued_still_arrives)
{
    book notes;
    world world;
    const tn::listener listener = serve_echo(world, notes);
    auto one = std::make_unique<client>(5000);

    CHECK(one->connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(0.0045);    /* ARP, established, and the data on its way */
    CHECK_EQ_U(one->sent, 5000);
    CHECK_EQ_U(one->back, 0);
    one.reset();
    world.run(10);
    CHECK_EQ_U(notes.received, 5000);
    CHECK_EQ_I(notes.gone, 1);
    /* What the server sent back came to somebody who does not receive any more (RFC 9293 3.6.1). */
    CHECK_EQ_I(notes.why, TENON_ERESET);
}

UNIT_TEST(object_that_ends_in_its_own_handler)
{
    struct guest : tn::tcp<guest> {
        explicit guest(std::unique_ptr<guest> &home) : home_(home) {}
        void opened() { (void)write("some words"); }
        void received(tn::spans) { home_.reset(); }
        std::unique_ptr<guest> &home_;
    };
    book notes;
    world world;
    const tn::listener listener = serve_echo(world, notes);
    std::unique_ptr<guest> home;

    home = std::make_unique<guest>(home);
    CHECK(home->connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(10);
    CHECK(home == nullptr);
    CHECK_EQ_I(notes.gone, 1);
}

UNIT_TEST(moved_object_takes_the_connection_along)
{
    book notes;
    world world;
    const tn::listener listener = serve_echo(world, notes);
    client first(STREAM);

    CHECK(first.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(0.006);
    client second(std::move(first));
    CHECK(!first);
    CHECK(second);
    world.run(0.002);
    CHECK(second.back > first.back && second.back < STREAM);
    client third(0);
    third = std::move(second);
    world.run(60);
    CHECK_EQ_U(third.back, STREAM);
    CHECK_EQ_I(third.wrong, 0);
    CHECK_EQ_I(third.why, TENON_OK);
    CHECK_EQ_I(first.why, 1);
    CHECK_EQ_I(second.why, 1);
}

UNIT_TEST(empty_object_answers_closed_or_does_nothing)
{
    client none(1);
    tn::listener listener;
    const tenon_span span = { nullptr, 0, 0 };

    CHECK(none.send(span) == TENON_ECLOSED);
    CHECK(none.write("x").why() == TENON_ECLOSED);
    CHECK(none.set(TENON_TCP_NODELAY, 1) == TENON_ECLOSED);
    CHECK(none.set_cc("cubic") == TENON_ECLOSED);
    CHECK(none.mark_urgent() == TENON_ECLOSED);
    CHECK(none.ack_fin() == TENON_ECLOSED);
    CHECK(none.decide(TENON_ACCEPT) == TENON_ECLOSED);
    CHECK_EQ_U(none.room(), 0);
    CHECK_EQ_U(none.get(TENON_TCP_TTL), 0);
    CHECK(none.state() == TENON_TCP_CLOSED);
    CHECK_EQ_U(none.info().srtt_us, 0);
    CHECK(!none.stack());
    none.finish();
    none.close();
    none.abort();
    none.consumed(1);
    none.ack(1);
    CHECK(!listener && listener.set(TENON_TCP_NODELAY, 1) == TENON_ECLOSED);
    CHECK_EQ_U(listener.local().port, 0);
    listener.close();
}

UNIT_TEST(end_of_the_stack_is_told_to_all)
{
    book notes;
    world world;
    client client(STREAM);
    {
        const tn::listener listener = serve_echo(world, notes);

        CHECK(client.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
        world.run(0.006);
    }
    world.run(0.001);    /* without its listener a connection goes on */
    CHECK(notes.made == 1 && notes.gone == 0);
    world::end(world.host(world::SERVER));
    CHECK_EQ_I(notes.why, TENON_EABORTED);
    CHECK_EQ_I(notes.gone, 1);
    world::end(world.host(world::CLIENT));
    CHECK_EQ_I(client.why, TENON_EABORTED);
    CHECK(!client);
}

/* Takes another with it when it is closed. */
struct pilot : tn::tcp<pilot> {
    void closed(tn::status) { wing.reset(); }
    std::unique_ptr<pilot> wing;
};

UNIT_TEST(object_that_ends_another_while_the_stack_ends)
{
    book notes;
    world world;
    const tn::listener listener = serve_echo(world, notes);
    pilot first, second;

    first.wing = std::make_unique<pilot>();
    CHECK(first.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    CHECK(first.wing->connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    second.wing = std::make_unique<pilot>();
    CHECK(second.wing->connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    CHECK(second.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(0.5);
    CHECK(first.state() == TENON_TCP_ESTABLISHED && second.wing->state() == TENON_TCP_ESTABLISHED);
    first.adopt(first);    /* what it has already stays as it is */
    CHECK(first.state() == TENON_TCP_ESTABLISHED);
    world::end(world.host(world::CLIENT));
    CHECK(!first && !second && !first.wing && !second.wing);
}

UNIT_TEST(closed_listener_answers_no_more)
{
    world world;
    auto made = tn::listener::serve<sink>(world.stack(world::SERVER), tn::any_at(PORT));
    client early(1000), late(1000);

    CHECK(made.ok());
    tn::listener listener = std::move(made).value();
    CHECK(tn::listener::serve<sink>(world.stack(world::SERVER), tn::any_at(PORT)).why() == TENON_EINUSE);
    CHECK(early.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(5);
    CHECK_EQ_I(early.why, TENON_OK);
    listener = tn::listener();
    CHECK(late.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(5);
    CHECK_EQ_I(late.why, TENON_EREFUSED);
}

UNIT_TEST(without_memory_for_its_object_a_connection_is_aborted)
{
    struct large : tn::tcp<large> {
        static void *operator new(std::size_t, const std::nothrow_t &) noexcept { return nullptr; }
        static void operator delete(void *) noexcept {}
    };
    world world;
    auto listener = tn::listener::serve<large>(world.stack(world::SERVER), tn::any_at(PORT));
    client client(1000);

    CHECK(listener.ok() && client.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(5);
    CHECK_EQ_I(client.why, TENON_ERESET);
}

/* ---- one object for all connections of a listener ------------------------------------------------------ */

/** Lets in whom the test says, counts, and gives those that it holds to a session when it is told to. */
struct porter : tn::tcp_handlers {
    tenon_verdict incoming(tn::conn conn)
    {
        asked++;
        CHECK_EQ_U(conn.info().local.port, PORT);
        if (verdict == TENON_HOLD)
            held = conn;
        return verdict;
    }
    void opened(tn::conn conn)
    {
        opens++;
        last = conn;
        if (taker != nullptr)
            taker->adopt(conn);
    }
    void received(tn::conn conn, tn::spans data)
    {
        CHECK(conn == last);
        bytes += data.bytes();
        conn.consumed(data.bytes());
    }
    void closed(tn::conn, tn::status why) { ends += why.ok(); }

    tenon_verdict verdict = TENON_ACCEPT;
    int asked = 0, opens = 0, ends = 0;
    tenon_u32 bytes = 0;
    tn::conn held, last;
    echo *taker = nullptr;
};

UNIT_TEST(one_object_hears_of_all)
{
    world world;
    porter porter;
    auto listener = tn::listener::open(world.stack(world::SERVER), tn::any_at(PORT), porter);
    client one(1000), two(2000);

    CHECK(listener.ok());
    CHECK(one.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(5);
    CHECK(two.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(5);
    CHECK_EQ_I(porter.asked, 2);
    CHECK_EQ_I(porter.opens, 2);
    CHECK_EQ_I(porter.ends, 2);
    CHECK_EQ_U(porter.bytes, 3000);
}

UNIT_TEST(refused_ignored_held)
{
    book notes;
    world world;
    porter porter;
    echo session(notes);
    auto listener = tn::listener::open(world.stack(world::SERVER), tn::any_at(PORT), porter);
    client refused(1000), held(1000);

    porter.verdict = TENON_REFUSE;
    CHECK(listener.ok() && refused.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(1);
    CHECK_EQ_I(refused.why, TENON_EREFUSED);

    porter.verdict = TENON_HOLD;
    porter.taker = &session;
    CHECK(held.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    world.run(1);
    CHECK(held.state() == TENON_TCP_SYN_SENT);
    CHECK(porter.held.decide(TENON_ACCEPT).ok());
    world.run(10);
    CHECK_EQ_I(porter.asked, 2);
    CHECK_EQ_U(held.back, 1000);
    CHECK_EQ_I(held.why, TENON_OK);
    CHECK_EQ_U(notes.received, 1000);    /* by the session that adopted it, not by the porter */
    CHECK_EQ_U(porter.bytes, 0);
    CHECK_EQ_I(porter.ends, 0);
    CHECK_EQ_I(notes.closed, 1);
}

UNIT_TEST(options_and_urgent_data)
{
    struct hurried : tn::tcp<hurried> {
        void opened()
        {
            CHECK(write("abc").ok());
            CHECK(mark_urgent().ok());
        }
    };
    struct hears : tn::tcp<hears> {
        explicit hears(tenon_u32 &ahead) : ahead_(ahead) {}
        void urgent(tenon_u32 ahead) { ahead_ = ahead; }
        tenon_u32 &ahead_;
    };
    tenon_u32 ahead = 0;
    world world;
    auto listener = tn::listener::serve_with<hears>(world.stack(world::SERVER), tn::any_at(PORT), ahead);
    hurried one;

    CHECK(listener.ok() && listener->set(TENON_TCP_TTL, 33).ok());
    CHECK(one.connect(world.stack(world::CLIENT), world::at(world::SERVER, PORT)).ok());
    CHECK(one.set(TENON_TCP_NODELAY, 1).ok());
    CHECK_EQ_U(one.get(TENON_TCP_NODELAY), 1);
    CHECK(one.set_cc("no such control") == TENON_EINVAL);
    CHECK(one.set_cc("newreno").ok());
    world.run(1);
    CHECK_EQ_U(ahead, 3);
    CHECK_EQ_S(one.info().cc, "newreno");
    CHECK(one.state() == TENON_TCP_ESTABLISHED);
    CHECK(one.stack().raw() == world.stack(world::CLIENT).raw());
    CHECK(one.room() > 0);
}

int main()
{
    UNIT_RUN(stream_there_and_back_over_a_lossy_wire);
    UNIT_RUN(many_connections_each_with_its_object);
    UNIT_RUN(handlers_that_are_left_out_are_as_null_in_c);
    UNIT_RUN(no_memory_is_taken_while_data_flows);
    UNIT_RUN(destructor_closes_and_what_is_queued_still_arrives);
    UNIT_RUN(object_that_ends_in_its_own_handler);
    UNIT_RUN(moved_object_takes_the_connection_along);
    UNIT_RUN(empty_object_answers_closed_or_does_nothing);
    UNIT_RUN(end_of_the_stack_is_told_to_all);
    UNIT_RUN(object_that_ends_another_while_the_stack_ends);
    UNIT_RUN(closed_listener_answers_no_more);
    UNIT_RUN(without_memory_for_its_object_a_connection_is_aborted);
    UNIT_RUN(one_object_hears_of_all);
    UNIT_RUN(refused_ignored_held);
    UNIT_RUN(options_and_urgent_data);
    return unit_end();
}
