package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patient is a transport whose input ends only once each of its calls was answered: an agent may close it behind its last
// call.
type patient struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (p patient) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	return &patientConnection{Connection: c}, err
}

type patientConnection struct {
	mcp.Connection
	calls sync.WaitGroup
}

// Read implements mcp.Connection.
func (c *patientConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		answered := make(chan struct{})
		go func() {
			c.calls.Wait()
			close(answered)
		}()
		select {
		case <-answered:
		case <-ctx.Done():
		}
		return m, err
	}
	if call, ok := m.(*jsonrpc.Request); ok && call.IsCall() {
		c.calls.Add(1)
	}
	return m, nil
}

// Write implements mcp.Connection.
func (c *patientConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.calls.Done()
	}
	return err
}
