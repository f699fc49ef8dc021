/* SPDX-License-Identifier: MIT */
/* tenon.hpp: sockets, and what is kept of a datagram, over a wire. */
#include "world.hpp"

enum { PORT = 53 };

/** Answers what it gets from the address that was asked. */
struct answers : tn::udp_handlers {
    void received(tn::udp_ref socket, const tenon_udp_info &info, tn::spans data)
    {
        asked++;
        CHECK_EQ_U(info.bytes, data.bytes());
        CHECK(socket.reply(info, data).ok());
    }
    int asked = 0;
};

/** Keeps what it gets. */
struct keeps : tn::udp_handlers {
    void received(tn::udp_ref, const tenon_udp_info &info, tn::spans data)
    {
        from = info.from;
        for (const tenon_span &span : data)
            kept.emplace_back(span);
    }
    void error(tn::udp_ref, const tenon_addr &to, tn::status why)
    {
        said_of = to.port;
        said = why.code();
    }
    std::string text() const
    {
        std::string all;

        for (const tn::kept &piece : kept)
            all += piece.text();
        return all;
    }
    std::vector<tn::kept> kept;
    tenon_addr from = tn::any_at(0);
    unsigned said_of = 0;
    int said = 0;
};

UNIT_TEST(question_and_answer)
{
    world world;
    answers answers;
    keeps keeps;
    auto server = tn::udp::open(world.stack(world::SERVER), answers);
    auto socket = tn::udp::open(world.stack(world::CLIENT), keeps);

    CHECK(server.ok() && server->bind(tn::any_at(PORT)).ok());
    CHECK(server->bind(tn::any_at(PORT)) == TENON_EINVAL);
    CHECK(socket.ok() && socket->write("nobody") == TENON_EINVAL);
    CHECK(socket->write(world::at(world::SERVER, PORT), "who is there?").ok());
    world.run();
    CHECK_EQ_I(answers.asked, 1);
    CHECK(keeps.text() == "who is there?");
    CHECK_EQ_U(keeps.from.port, PORT);

    CHECK(socket->connect(world::at(world::SERVER, PORT)).ok());
    CHECK_EQ_U(socket->remote().port, PORT);
    CHECK(socket->local().port != 0);
    const tn::buf large = tn::make_buf(stream(0, 5000));    /* in fragments, there and back */
    const tenon_span two[2] = { { large.raw(), 0, 2000 }, { large.raw(), 2000, 3000 } };
    keeps.kept.clear();
    CHECK(socket->send(tn::spans(two, 2)).ok());
    world.run();
    CHECK(keeps.text() == stream(0, 5000));
    CHECK(socket->disconnect().ok());
    CHECK(socket->send(tn::spans(two, 2)) == TENON_EINVAL);
    CHECK(socket->write(std::string_view(stream(0, 70000))) == TENON_EMSGSIZE);
    keeps.kept.clear();
}

UNIT_TEST(question_to_all_and_answers)
{
    world world;
    answers answers;
    keeps keeps;
    auto server = tn::udp::open(world.stack(world::SERVER), answers);
    auto socket = tn::udp::open(world.stack(world::CLIENT), keeps);

    CHECK(server.ok() && server->bind(tn::any_at(PORT)).ok());
    CHECK(socket.ok() && socket->set(TENON_UDP_BROADCAST, 1).ok());
    for (const tenon_ip &all : { tn::ip4(10, 0, 0, 255), tn::ip4(255, 255, 255, 255), tn::ip4(224, 0, 0, 1) }) {
        keeps.kept.clear();
        CHECK(socket->write(tn::endpoint(all, PORT), "who is there?").ok());
        world.run();
        CHECK(keeps.text() == "who is there?");
        CHECK_EQ_S(tn::ip_text(keeps.from.ip).c_str(), "10.0.0.2");
    }
    CHECK_EQ_I(answers.asked, 3);
    keeps.kept.clear();
}

UNIT_TEST(error_is_told)
{
    world world;
    keeps keeps;
    auto socket = tn::udp::open(world.stack(world::CLIENT), keeps);

    CHECK(socket.ok() && socket->connect(world::at(world::SERVER, PORT + 1)).ok());
    CHECK(socket->write("hello").ok());
    world.run();
    CHECK_EQ_I(keeps.said, TENON_EREFUSED);
    CHECK_EQ_U(keeps.said_of, PORT + 1);
}

UNIT_TEST(moved_socket_and_closed_one)
{
    world world;
    answers answers;
    keeps keeps;
    tn::udp server = *tn::udp::open(world.stack(world::SERVER), answers);
    tn::udp first = *tn::udp::open(world.stack(world::CLIENT), keeps);
    tn::udp second;

    CHECK(server.bind(tn::any_at(PORT)).ok());
    second = std::move(first);
    CHECK(!first && first.write("x") == TENON_ECLOSED);
    CHECK_EQ_U(first.local().port, 0);
    CHECK(second.write(world::at(world::SERVER, PORT), "one").ok());
    world.run();
    CHECK(keeps.text() == "one");
    server = tn::udp();
    CHECK(second.write(world::at(world::SERVER, PORT), "two").ok());
    world.run();
    CHECK_EQ_I(answers.asked, 1);
    /* Its port is free again. */
    server = *tn::udp::open(world.stack(world::SERVER), answers);
    CHECK(server.bind(tn::any_at(PORT)).ok());
    keeps.kept.clear();
}

UNIT_TEST(socket_that_ends_in_its_own_handler)
{
    struct once : tn::udp_handlers {
        void received(tn::udp_ref, const tenon_udp_info &, tn::spans)
        {
            heard++;
            socket.close();
        }
        tn::udp socket;
        int heard = 0;
    };
    world world;
    once once;
    keeps keeps;
    auto sender = tn::udp::open(world.stack(world::CLIENT), keeps);

    once.socket = *tn::udp::open(world.stack(world::SERVER), once);
    CHECK(once.socket.bind(tn::any_at(PORT)).ok());
    for (int i = 0; i < 3; i++)
        CHECK(sender.ok() && sender->write(world::at(world::SERVER, PORT), "x").ok());
    world.run();
    CHECK_EQ_I(once.heard, 1);
}

UNIT_TEST(what_is_kept_outlives_the_stack)
{
    std::string text;
    {
        world world;
        answers answers;
        keeps keeps;
        {
            auto server = tn::udp::open(world.stack(world::SERVER), answers);
            auto socket = tn::udp::open(world.stack(world::CLIENT), keeps);

            CHECK(server.ok() && server->bind(tn::any_at(PORT)).ok());
            CHECK(socket.ok() && socket->write(world::at(world::SERVER, PORT), stream(0, 1000)).ok());
            world.run();
        }
        world::end(world.host(world::CLIENT));
        text = keeps.text();
    }
    CHECK(text == stream(0, 1000));
}

int main()
{
    UNIT_RUN(question_and_answer);
    UNIT_RUN(question_to_all_and_answers);
    UNIT_RUN(error_is_told);
    UNIT_RUN(moved_socket_and_closed_one);
    UNIT_RUN(socket_that_ends_in_its_own_handler);
    UNIT_RUN(what_is_kept_outlives_the_stack);
    return unit_end();
}
