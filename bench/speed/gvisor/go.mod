module speedgvisor

go 1.21.1

require gvisor.dev/gvisor v0.0.0-20231202080848-1f7806d17489

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/sys v0.13.0 // indirect
	golang.org/x/time v0.3.0 // indirect
)
