// SPDX-License-Identifier: MIT

// gVisor's netstack for bench/speed: two stacks joined by a link that hands packets over at once, both in goroutines
// on one processor. It acknowledges at once, so that a round trip is four packets. It cannot be driven by a loop of ours and a clock of ours, so what is counted is the CPU time of
// the whole process over some time, with its scheduler and garbage collector. No Ethernet and no ARP.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	port       = 7
	bufferMax  = 8 << 20
	gsoMax     = 65536 - 20
	opening    = 64
	warmTime   = 100 * time.Millisecond
	waitEvents = waiter.EventIn | waiter.EventOut | waiter.EventHUp | waiter.EventErr
)

type settings struct {
	workload                                                     string
	connections, message, mtu, csum, tso, segments, milliseconds int
}

var (
	conf                                               settings
	rounds, received, datagrams, opened, closed, wrong atomic.Uint64
	clientIP                                           = tcpip.AddrFrom4([4]byte{10, 0, 0, 1})
	serverIP                                           = tcpip.AddrFrom4([4]byte{10, 0, 0, 2})
)

// ---- the link ---------------------------------------------------------------------------------------

// link is an end of the wire: what is written to it is the other's input.
type link struct {
	other      *link
	dispatcher stack.NetworkDispatcher
}

func (l *link) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for _, packet := range list.AsSlice() {
		arrived := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: packet.ToBuffer()})
		arrived.RXChecksumValidated = conf.csum == 1
		l.other.dispatcher.DeliverNetworkPacket(packet.NetworkProtocolNumber, arrived)
		arrived.DecRef()
	}
	return list.Len(), nil
}

func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	if conf.csum == 1 {
		return stack.CapabilityTXChecksumOffload | stack.CapabilityRXChecksumOffload
	}
	return 0
}

func (l *link) SupportedGSO() stack.SupportedGSO {
	if conf.tso == 1 {
		return stack.HostGSOSupported
	}
	return stack.GSONotSupported
}

func (l *link) MTU() uint32                               { return uint32(conf.mtu) }
func (l *link) GSOMaxSize() uint32                        { return gsoMax }
func (l *link) MaxHeaderLength() uint16                   { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress            { return "" }
func (l *link) Attach(dispatcher stack.NetworkDispatcher) { l.dispatcher = dispatcher }
func (l *link) IsAttached() bool                          { return l.dispatcher != nil }
func (l *link) Wait()                                     {}
func (l *link) ARPHardwareType() header.ARPHardwareType   { return header.ARPHardwareNone }
func (l *link) AddHeader(stack.PacketBufferPtr)           {}
func (l *link) ParseHeader(stack.PacketBufferPtr) bool    { return true }

func must(err tcpip.Error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gvisor:", err)
		os.Exit(1)
	}
}

func newStack(l *link, own tcpip.Address) *stack.Stack {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	must(s.CreateNIC(1, l))
	must(s.AddProtocolAddress(1, tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: own.WithPrefix(),
	}, stack.AddressProperties{}))
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: 1 << 20, Max: bufferMax}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: 4 << 20, Max: bufferMax}
	sack, wait := tcpip.TCPSACKEnabled(true), tcpip.TCPTimeWaitTimeoutOption(10*time.Millisecond)
	for _, option := range []tcpip.SettableTransportProtocolOption{&send, &receive, &sack, &wait} {
		must(s.SetTransportProtocolOption(tcp.ProtocolNumber, option))
	}
	return s
}

// ---- connections ------------------------------------------------------------------------------------

// end is a socket whose calls wait.
type end struct {
	socket tcpip.Endpoint
	queue  *waiter.Queue
	notice chan struct{}
	entry  waiter.Entry
}

func wrap(socket tcpip.Endpoint, queue *waiter.Queue) *end {
	e := &end{socket: socket, queue: queue}
	socket.SocketOptions().SetDelayOption(false)
	return e
}

func (e *end) watch() *end {
	e.entry, e.notice = waiter.NewChannelEntry(waitEvents)
	e.queue.EventRegister(&e.entry)
	return e
}

func (e *end) close() {
	if e.notice != nil {
		e.queue.EventUnregister(&e.entry)
	}
	e.socket.Close()
}

func open(s *stack.Stack, protocol tcpip.TransportProtocolNumber) *end {
	queue := &waiter.Queue{}
	socket, err := s.NewEndpoint(protocol, ipv4.ProtocolNumber, queue)
	must(err)
	return wrap(socket, queue)
}

func connect(s *stack.Stack, e *end) bool {
	err := e.socket.Connect(tcpip.FullAddress{NIC: 1, Addr: serverIP, Port: port})
	if _, started := err.(*tcpip.ErrConnectStarted); started {
		for e.socket.Readiness(waiter.EventOut) == 0 {
			<-e.notice
		}
		err = e.socket.LastError()
	}
	return err == nil
}

// read takes what is there, without a copy; 0 is the end.
func (e *end) read() int {
	for {
		result, err := e.socket.Read(io.Discard, tcpip.ReadOptions{})
		if err == nil {
			return result.Count
		}
		if _, wait := err.(*tcpip.ErrWouldBlock); !wait {
			return 0
		}
		<-e.notice
	}
}

func (e *end) write(data []byte) bool {
	var reader bytes.Reader
	for len(data) > 0 {
		reader.Reset(data)
		n, err := e.socket.Write(&reader, tcpip.WriteOptions{})
		data = data[n:]
		if err == nil {
			continue
		}
		if _, wait := err.(*tcpip.ErrWouldBlock); !wait {
			return false
		}
		<-e.notice
	}
	return true
}

func (e *end) message() bool {
	for got := 0; got < conf.message; {
		n := e.read()
		if n == 0 {
			return false
		}
		got += n
	}
	return true
}

// ---- applications -----------------------------------------------------------------------------------

func serve(e *end, data []byte) {
	e.watch()
	switch conf.workload {
	case "bulk":
		for n := e.read(); n > 0; n = e.read() {
			received.Add(uint64(n))
		}
	default:
		for e.message() && e.write(data) {
		}
	}
	e.close()
}

func listen(s *stack.Stack, data []byte) {
	e := open(s, tcp.ProtocolNumber).watch()
	must(e.socket.Bind(tcpip.FullAddress{NIC: 1, Addr: serverIP, Port: port}))
	must(e.socket.Listen(4096))
	for {
		socket, queue, err := e.socket.Accept(nil)
		if _, wait := err.(*tcpip.ErrWouldBlock); wait {
			<-e.notice
			continue
		}
		must(err)
		accepted := wrap(socket, queue)
		if conf.workload == "idle" {
			kept = append(kept, accepted)
			continue
		}
		go serve(accepted, data)
	}
}

var kept []*end

func work(s *stack.Stack, e *end, data []byte) {
	if conf.workload == "bulk" {
		for e.write(data) {
		}
		return
	}
	for e.write(data) && e.message() {
		rounds.Add(1)
	}
}

func short(s *stack.Stack, data []byte) {
	for {
		e := open(s, tcp.ProtocolNumber).watch()
		if !connect(s, e) || !e.write(data) || !e.message() {
			wrong.Add(1)
		}
		e.close()
		closed.Add(1)
	}
}

func udpServe(s *stack.Stack, data []byte) {
	e := open(s, udp.ProtocolNumber).watch()
	must(e.socket.Bind(tcpip.FullAddress{NIC: 1, Addr: serverIP, Port: port}))
	var reader bytes.Reader
	for {
		result, err := e.socket.Read(io.Discard, tcpip.ReadOptions{NeedRemoteAddr: true})
		if err != nil {
			<-e.notice
			continue
		}
		datagrams.Add(1)
		if conf.workload == "udp-ping" {
			reader.Reset(data)
			e.socket.Write(&reader, tcpip.WriteOptions{To: &result.RemoteAddr})
		}
	}
}

func udpWork(s *stack.Stack, data []byte) {
	e := open(s, udp.ProtocolNumber).watch()
	must(e.socket.Connect(tcpip.FullAddress{NIC: 1, Addr: serverIP, Port: port}))
	for e.write(data) {
		if conf.workload == "udp-ping" {
			e.read()
			rounds.Add(1)
		} else {
			runtime.Gosched()
		}
	}
}

// ---- measuring --------------------------------------------------------------------------------------

func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// segment waits until so much CPU time has been used, and tells how much of it each unit took.
func segment(unit *atomic.Uint64, length time.Duration) (float64, uint64) {
	began, units := cpu(), unit.Load()
	for cpu()-began < length || unit.Load()-units < uint64(conf.connections) {
		time.Sleep(5 * time.Millisecond)
	}
	used, done := cpu()-began, unit.Load()-units
	return float64(used.Nanoseconds()) / float64(done), done
}

func line(what, name string, values []float64, units uint64, more string) {
	best := values[0]
	texts := []string{}
	for _, value := range values {
		best = min(best, value)
		texts = append(texts, strconv.FormatFloat(value, 'g', 5, 64))
	}
	if wrong.Load() > 0 || units == 0 {
		more += `, "failed": "connections failed"`
	}
	fmt.Printf(`{"stack": "gvisor", "workload": "%s", "what": "%s", "unit": "%s", "units": %d, "segments": [%s], "ns": %.5g%s}`+
		"\n", conf.workload, what, name, units, strings.Join(texts, ", "), best, more)
}

func measure(what, name string, unit *atomic.Uint64) {
	segment(unit, warmTime)
	var values []float64
	var units uint64
	for i := 0; i < conf.segments; i++ {
		value, done := segment(unit, time.Duration(conf.milliseconds)*time.Millisecond)
		values, units = append(values, value), done
	}
	line(what, name, values, units, "")
}

func resident() uint64 {
	var pages, size uint64
	text, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(text), &size, &pages)
	return pages * uint64(os.Getpagesize())
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

func openAll(s *stack.Stack) []*end {
	ends := make([]*end, conf.connections)
	for first := 0; first < len(ends); first += opening {
		var group sync.WaitGroup
		for i := first; i < min(first+opening, len(ends)); i++ {
			ends[i] = open(s, tcp.ProtocolNumber).watch()
			group.Add(1)
			go func(e *end) {
				if !connect(s, e) {
					wrong.Add(1)
				}
				opened.Add(1)
				group.Done()
			}(ends[i])
		}
		group.Wait()
	}
	return ends
}

func measureIdle(s *stack.Stack, what string) {
	bytesBefore, residentBefore, began := heap(), resident(), cpu()
	ends := openAll(s)
	used := float64((cpu() - began).Nanoseconds()) / float64(len(ends))
	for _, e := range ends {
		e.queue.EventUnregister(&e.entry)
		e.notice = nil
	}
	both := 2 * float64(len(ends))
	line(what, "connection", []float64{used}, opened.Load(), fmt.Sprintf(`, "bytes": %.1f, "resident_bytes": %.1f`,
		float64(heap()-bytesBefore)/both, float64(resident()-residentBefore)/both))
	runtime.KeepAlive(ends)
}

// missing says what cannot be measured, or nothing.
func missing(given map[string]int) string {
	switch {
	case conf.workload == "load" || conf.workload == "connect-time":
		return "it has no loop that could be watched for one request or connection"
	case given["ip6"] > 0:
		return "it was set up for IPv4 only"
	case given["idle"] > 0 || given["copy"] > 0 || given["lro"] != given["tso"] || given["rx_csum"] != given["tx_csum"]:
		return "not made for gVisor"
	case conf.connections > 10000:
		return "it would take too long and too much memory"
	}
	return ""
}

func read(words []string) map[string]int {
	given := map[string]int{"connections": 1, "message": 1, "mtu": 1500, "csum": 1, "segments": 3, "segment_ms": 30,
		"rx_csum": 1, "tx_csum": 1}
	for _, word := range words {
		key, text, found := strings.Cut(word, "=")
		value, err := strconv.Atoi(text)
		if !found || err != nil {
			fmt.Fprintf(os.Stderr, "what is %q?\n", word)
			os.Exit(2)
		}
		given[key] = value
	}
	conf.connections, conf.message, conf.mtu = given["connections"], given["message"], given["mtu"]
	conf.csum, conf.tso = given["csum"], given["tso"]
	conf.segments, conf.milliseconds = given["segments"], given["segment_ms"]
	return given
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "Usage: WORKLOAD gvisor [KEY=VALUE...]")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	conf.workload = os.Args[1]
	what := strings.Join(os.Args[3:], " ")
	if why := missing(read(os.Args[3:])); why != "" {
		fmt.Printf(`{"stack": "gvisor", "workload": "%s", "what": "%s", "missing": "%s"}`+"\n", conf.workload, what, why)
		os.Exit(3)
	}
	client, server := &link{}, &link{}
	client.other, server.other = server, client
	ours, theirs := newStack(client, clientIP), newStack(server, serverIP)
	data := make([]byte, conf.message)
	switch conf.workload {
	case "udp-ping", "udp-bulk":
		go udpServe(theirs, data)
		time.Sleep(warmTime)
		for i := 0; i < conf.connections; i++ {
			go udpWork(ours, data)
		}
	default:
		go listen(theirs, data)
		time.Sleep(warmTime)
	}
	switch conf.workload {
	case "idle":
		measureIdle(ours, what)
	case "connect":
		for i := 0; i < conf.connections; i++ {
			go short(ours, data)
		}
		measure(what, "connection", &closed)
	case "ping-pong", "bulk":
		for _, e := range openAll(ours) {
			go work(ours, e, data)
		}
		if conf.workload == "bulk" {
			measure(what, "byte", &received)
		} else {
			measure(what, "round trip", &rounds)
		}
	case "udp-ping":
		measure(what, "round trip", &rounds)
	case "udp-bulk":
		measure(what, "datagram", &datagrams)
	}
}
