package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/wire"
	"hindcast/store"
)

const kind = "reflection"

// Kind describes the stores of a running process. Its addresses are URLs; no
// path is recognised as one.
func Kind() store.Kind {
	return store.Kind{
		Name:    kind,
		Schemes: []string{"http", "https"},
		Open:    func(ctx context.Context, address string) (store.Store, error) { return Open(ctx, address) },
	}
}

var (
	// ErrRemote: the address is plain HTTP to another machine.
	ErrRemote = errors.New("plain http is for this machine only; use https, or a tunnel to a loopback port")
	// ErrNoList: the server cannot tell which sessions there are.
	ErrNoList = errors.New("the process has no listSessions action; a session opens when it is named")
	// ErrNoGrowth: the server cannot tell what is new in a session.
	ErrNoGrowth = errors.New("the process cannot tell what is new in a session; read it again")
	// ErrTooLong: an answer is longer than is taken.
	ErrTooLong = errors.New("the answer is too long")
	// ErrTooSlow: an answer is not at its end when it should be.
	ErrTooSlow = errors.New("the answer does not come to its end")
)

// Store is the session stores of a process. It writes nothing itself, and is safe
// for concurrent use. Use Open.
//
// With one agent, sessions have the ids of the process; with several agents
// their ids are SESSION/AGENT.
type Store struct {
	address string
	client  *http.Client
	base    base
	agents  map[string]*agent
	// limit is how many bytes of one answer are taken, patience how long it may
	// take, and interval how often Watch asks.
	limit    int64
	patience time.Duration
	interval time.Duration
	life     store.Lifetime
}

// Features returns the store's features.
func (s *Store) Features() store.Features {
	return store.Features{
		Record: s.Get, Watch: s.Watch, Cursor: s.Cursor, Growth: s.Growth,
		Lacks: s.Lacks, Plan: s.Plan, Apply: s.Apply, Journal: s.Journal,
	}
}

// agent describes one agent: its actions, each with the inputs that it accepts. The inputs are nil if the
// process does not list them.
type agent struct {
	name    string
	actions map[string]map[string]bool
	// runs says that the process has the agent itself, and not only its sessions.
	runs bool
}

func (a *agent) hasAction(action string) bool {
	_, ok := a.actions[action]
	return ok
}

// acceptsInput reports whether the agent's action is known to take an input.
func (a *agent) acceptsInput(action, input string) bool { return a.actions[action][input] }

// Open asks a process which agents it has. The address is a URL: http for this
// machine, https for any. The error is a *NoStoreError where there is a server
// that has no session stores, and ErrRemote for plain http to another machine.
func Open(ctx context.Context, address string) (*Store, error) {
	s, err := open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("reflection: open %.200q: %w", address, err)
	}
	return s, nil
}

func open(ctx context.Context, address string) (*Store, error) {
	at, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	return connectStore(ctx, address, at, newClient(at))
}

func connectStore(ctx context.Context, address string, at base, client *http.Client) (s *Store, err error) {
	s = &Store{address: address, client: client, base: at, limit: maxAnswer, patience: wholeTimeout, interval: pollInterval}
	if s.agents, err = s.discoverAgents(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// NoStoreError says that a server answers as the reflection API does and has
// no session stores.
type NoStoreError struct {
	// Genkit is the version that the server gives of itself, such as
	// "go/1.13.1"; "" if it gives none.
	Genkit string
	// Agents are the names of the Genkit agents that it has.
	Agents []string
	// Actions counts everything that it has.
	Actions int
}

func (e *NoStoreError) Error() string {
	if e.Genkit == "" && len(e.Agents) == 0 {
		return fmt.Sprintf("the process has %d actions, and none of them is on a session store", e.Actions)
	}
	text := "this is a Genkit runtime"
	if e.Genkit != "" {
		text += fmt.Sprintf(" (%.40q)", e.Genkit)
	}
	if len(e.Agents) == 0 {
		text += fmt.Sprintf(" with %d actions and no agents", e.Actions)
	} else {
		text += " with the agents " + nameAgents(e.Agents)
	}
	return text + "; it has no session-store actions and cannot list snapshots: its snapshot files are what to open, which its agents write to a directory such as .genkit/snapshots or .snapshots"
}

// mostNamed bounds the agents that an error names.
const mostNamed = 10

// nameAgents names agents in an error: the server chose the names, and how many.
func nameAgents(agents []string) string {
	var text strings.Builder
	for i, name := range agents {
		if i == mostNamed {
			fmt.Fprintf(&text, " and %d more", len(agents)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%.40q", name)
	}
	return text.String()
}

// discoverAgents finds the agents with a session store.
func (s *Store) discoverAgents(ctx context.Context) (map[string]*agent, error) {
	agents, missing := map[string]*agent{}, &NoStoreError{}
	genkit, running := map[string]bool{}, map[string]bool{}
	err := s.getPath(ctx, wire.ActionsPath, func(answer *http.Response, body *bounded) error {
		missing.Genkit = answer.Header.Get("X-Genkit-Version")
		body.left = min(body.left, maxActions)
		list, err := wire.ReadActions(body)
		missing.Actions = len(list)
		for key, descriptor := range list {
			if name, action, ok := wire.ParseKey(key); ok {
				if agents[name] == nil {
					agents[name] = &agent{name: name, actions: map[string]map[string]bool{}}
				}
				agents[name].actions[action] = descriptor.Takes()
			}
			for _, prefix := range []string{"/agent/", "/agent-snapshot/"} {
				if name, ok := strings.CutPrefix(key, prefix); ok {
					genkit[name] = true
				}
			}
			if name, ok := strings.CutPrefix(key, "/agent/"); ok {
				running[name] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(agents) == 0 {
		missing.Agents = slices.Sorted(maps.Keys(genkit))
		return nil, missing
	}
	for name, a := range agents {
		a.runs = running[name]
	}
	return agents, nil
}

// Kind returns "reflection".
func (s *Store) Kind() string { return kind }

// Address returns the URL that was opened.
func (s *Store) Address() string { return s.address }

// Lacks implements [store.Features].Lacks.
func (s *Store) Lacks(op model.Op) string {
	if op == model.OpRun {
		return s.lacksRun()
	}
	return "the process that is running keeps its own head; open its store itself instead"
}

// Close lets go of the connections. What is asked after that is fs.ErrClosed.
func (s *Store) Close() error {
	s.life.End()
	s.client.CloseIdleConnections()
	return nil
}

var errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)

// agentNames returns the names of the agents, in order.
func (s *Store) agentNames() []string { return slices.Sorted(maps.Keys(s.agents)) }

// sessionID returns how every call names a session of an agent.
func (s *Store) sessionID(a *agent, session string) string {
	if len(s.agents) == 1 {
		return session
	}
	return session + "/" + a.name
}

// locateAgent returns the agent of a session, and the session's id in the process. The
// error is model.ErrNoSession. An agent's name has no slash in it, so there is
// one way to read an id.
func (s *Store) locateAgent(id string) (*agent, string, error) {
	if len(s.agents) == 1 {
		for _, a := range s.agents {
			return a, id, nil
		}
	}
	i := strings.LastIndexByte(id, '/')
	if a := s.agents[id[i+1:]]; i >= 0 && a != nil {
		return a, id[:i], nil
	}
	return nil, "", fmt.Errorf("the process has the agents %s, and a session is named SESSION/AGENT: %w", nameAgents(s.agentNames()), model.ErrNoSession)
}
