package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are how the server answers.
type Options struct {
	// Version is the version of the program.
	Version string
	// Secrets says that secrets are not hidden.
	Secrets bool
	// Quote returns a text as a word of a shell.
	Quote func(string) string
}

// instructions tell an agent how the tools go together.
const instructions = `Hindcast knows the sessions that coding agents and agent frameworks recorded on this machine, with the branches that were abandoned.
Begin with search or sessions. Their ids are the session of every other tool; the names in timeline, such as #7, are snapshots.
Nothing here writes. plan returns the command that a person may run.`

// openOutput is an output that stays open.
type openOutput struct{ io.Writer }

// Close implements io.Closer.
func (openOutput) Close() error { return nil }

// Serve answers an agent, which writes to in and reads from out, until it goes, or ctx ends. One call is answered after
// another. The error is that of ctx, or of in and out.
func Serve(ctx context.Context, in io.Reader, out io.Writer, run Run, o Options) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "hindcast", Title: "Hindcast", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{},
	})
	turns := make(chan struct{}, 1)
	alone := func(ctx context.Context, to *Output, line []string) error {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			return run(ctx, to, line)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s := &served{run: alone, secrets: o.Secrets, quote: o.Quote}
	for i := range tools {
		t := &tools[i]
		no := false
		server.AddTool(&mcp.Tool{
			Name: t.name, Description: t.does, InputSchema: t.inputSchema(),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
		}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := s.answerCall(ctx, t, r.Params.Arguments)
			if err != nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	for i := range resources {
		r := &resources[i]
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: r.name, Description: r.does, MIMEType: r.is, URITemplate: scheme + "://{+session}/" + r.name},
			func(ctx context.Context, asked *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				text, err := s.readResource(ctx, r, asked.Params.URI)
				if err != nil {
					return nil, err
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: asked.Params.URI, MIMEType: r.is, Text: text}}}, nil
			})
	}
	err := server.Run(ctx, patient{&mcp.IOTransport{Reader: io.NopCloser(in), Writer: openOutput{out}}})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// served answers calls.
type served struct {
	run     Run
	secrets bool
	quote   func(string) string
}

// answerCall answers a call of a tool.
func (s *served) answerCall(ctx context.Context, t *tool, given json.RawMessage) (string, error) {
	v, err := t.readArguments(given)
	if err != nil {
		return "", err
	}
	c, err := t.commandOf(ctx, s.run, v)
	if err != nil {
		return "", err
	}
	document, err := s.run.printDocument(ctx, c)
	if err != nil {
		return "", err
	}
	if document, err = s.hideIn(document); err != nil {
		return "", err
	}
	text, err := cutToPage(document, page{t.pages, v.number("offset"), v.number("limit")})
	if slices.Contains(t.flags, dryRun) && err == nil {
		c.flags = slices.DeleteFunc(c.flags, func(flag string) bool { return flag == dryRun })
		text = "A person carries it out: hindcast " + s.quoteLine(&c) + "\n" + text
	}
	return text, err
}

// quoteLine returns a command as words of a shell.
func (s *served) quoteLine(c *command) string {
	var words []string
	for _, word := range slices.Concat(c.words, c.flags, c.names) {
		words = append(words, s.quote(word))
	}
	return strings.Join(words, " ")
}

// hideIn hides the secrets of a document, unless they are to be shown.
func (s *served) hideIn(document []byte) ([]byte, error) {
	if s.secrets {
		return document, nil
	}
	return hideSecrets(document)
}

// scheme is that of the addresses of resources.
const scheme = "hindcast"

// resource is a whole session as a text.
type resource struct {
	name, does, is string
	command        command
	// hides says that the command hides secrets itself.
	hides bool
}

var resources = []resource{
	{"transcript", "the conversation at the head of a session, as Markdown", "text/markdown", command{words: []string{"messages"}, flags: []string{"--md"}}, false},
	{"page", "a session as one page that opens in any browser", "text/html", command{words: []string{"report"}}, true},
}

// mostOfResource bounds the bytes of a resource.
const mostOfResource = 8 << 20

// readResource returns the text of a resource.
func (s *served) readResource(ctx context.Context, r *resource, address string) (string, error) {
	name, ok := strings.CutPrefix(address, scheme+"://")
	name, whole := strings.CutSuffix(name, "/"+r.name)
	name, err := url.PathUnescape(name)
	if err != nil || !ok || !whole {
		return "", fmt.Errorf("%.200q is no address of a %s", address, r.name)
	}
	one, err := s.run.findSession(ctx, name, "")
	if err != nil {
		return "", err
	}
	c := r.command
	if c.names = []string{one.Store, one.ID}; r.hides && s.secrets {
		c.flags = []string{"--unredacted"}
	}
	out := &Output{Most: mostOfResource}
	if err := s.run(ctx, out, c.allWords()); err != nil || r.hides || s.secrets {
		return out.String(), err
	}
	document, err := json.Marshal(out.String())
	if err != nil {
		return "", err
	}
	var text string
	if document, err = hideSecrets(document); err == nil {
		err = json.Unmarshal(document, &text)
	}
	return text, err
}
