/* SPDX-License-Identifier: MIT */
/* The search over titles, functions and rules, and the contents on narrow screens. The index is a script that lies
 * beside this one (site/search-index.js: rows of title, page, address), so that nothing is needed but the files. */
(function () {
    "use strict";
    var root = document.body.dataset.root;
    var input = document.querySelector(".search input");
    var list = document.querySelector(".hits");
    var menu = document.querySelector(".menu");
    var chosen = -1;
    var HITS_MAX = 30;

    function plain(text) {
        return text.toLowerCase().replace(/[_().:\-\/\s]+/g, " ").trim();
    }

    /* The higher the better; 0: no hit. Every word must be there; a title that is or begins with it comes first. */
    function score(row, words, whole) {
        var title = row.title, points = 1, i, at;
        for (i = 0; i < words.length; i++) {
            at = title.indexOf(words[i]);
            if (at < 0 && row.page.indexOf(words[i]) < 0)
                return 0;
            if (at === 0 || (at > 0 && title[at - 1] === " "))
                points += 3;
            else if (at > 0)
                points += 1;
        }
        if (title === whole)
            points += 20;
        else if (title.indexOf(whole) === 0)
            points += 8;
        if ((" " + title + " ").indexOf(" " + whole + " ") >= 0)
            points += 8;
        if (row.page === "")
            points += 3;
        return points - title.length / 200;
    }

    var rows = TENON_INDEX.map(function (entry) {
        return { title: plain(entry[0]), page: plain(entry[1]), entry: entry };
    });

    function find(text) {
        var whole = plain(text), words = whole.split(" "), hits = [];
        if (whole === "")
            return hits;
        rows.forEach(function (row) {
            var points = score(row, words, whole);
            if (points > 0)
                hits.push({ points: points, entry: row.entry });
        });
        hits.sort(function (a, b) { return b.points - a.points; });
        return hits.slice(0, HITS_MAX);
    }

    function item(hit) {
        var li = document.createElement("li"), a = document.createElement("a"), where = document.createElement("small");
        a.href = root + "/" + hit.entry[2];
        a.textContent = hit.entry[0];
        where.textContent = hit.entry[1];
        a.appendChild(where);
        li.appendChild(a);
        return li;
    }

    function show() {
        var hits = find(input.value);
        list.textContent = "";
        hits.forEach(function (hit) { list.appendChild(item(hit)); });
        if (hits.length === 0 && input.value.trim() !== "") {
            var none = document.createElement("li");
            none.className = "none";
            none.textContent = "Nothing has such a title.";
            list.appendChild(none);
        }
        list.hidden = input.value.trim() === "";
        choose(hits.length > 0 ? 0 : -1);
    }

    function choose(number) {
        var links = list.querySelectorAll("a");
        if (links.length === 0) {
            chosen = -1;
            return;
        }
        chosen = (number + links.length) % links.length;
        links.forEach(function (link, i) { link.classList.toggle("chosen", i === chosen); });
        links[chosen].scrollIntoView({ block: "nearest" });
    }

    function hide() {
        list.hidden = true;
    }

    input.addEventListener("input", show);
    input.addEventListener("focus", function () { if (input.value.trim() !== "") show(); });
    input.addEventListener("keydown", function (event) {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
            event.preventDefault();
        } else if (event.key === "Escape") {
            hide();
            input.blur();
        }
    });
    document.querySelector(".search").addEventListener("submit", function (event) {
        var link = list.querySelectorAll("a")[chosen];
        event.preventDefault();
        if (link) {
            hide();
            window.location.href = link.href;
        }
    });
    list.addEventListener("click", hide);
    document.addEventListener("click", function (event) {
        if (!event.target.closest(".search"))
            hide();
    });
    document.addEventListener("keydown", function (event) {
        if (event.key === "/" && document.activeElement !== input && !event.ctrlKey && !event.metaKey) {
            input.focus();
            input.select();
            event.preventDefault();
        }
    });

    menu.addEventListener("click", function () {
        var open = document.body.classList.toggle("open");
        menu.setAttribute("aria-expanded", String(open));
    });
    var side = document.getElementById("sidebar"), here = side.querySelector("[aria-current]");
    if (here)
        side.scrollTop = here.offsetTop - side.clientHeight / 2;
})();
