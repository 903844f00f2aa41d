package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"hindcast/store"
	"hindcast/store/disk"
	"hindcast/store/folder"
	"hindcast/store/journal"
)

// scheme is that of addresses.
const scheme = "s3"

// Options say how a bucket is reached.
type Options struct {
	// Endpoint is the URL of the server, "" for what the environment and the profile name, or
	// that of AWS.
	Endpoint string
	// Lease is how long the claim of a program holds that does not renew it; 0 is a minute.
	Lease time.Duration
	// Every is how often a bucket that is followed is listed; 0 is every other second.
	Every time.Duration

	// pause is that of a client, nil for its own.
	pause func(context.Context, int) error
}

// Kind describes stores that lie in a bucket: each is of one of the formats, which are asked
// in their order.
func Kind(o Options, formats ...folder.Opener) store.Kind {
	return store.Kind{
		Name: scheme, Schemes: []string{scheme},
		Open: func(ctx context.Context, address string) (store.Store, error) { return open(ctx, o, formats, address) },
		At: func(endpoint string) store.Kind {
			o := o
			o.Endpoint = endpoint
			return Kind(o, formats...)
		},
	}
}

// parse takes an address apart: s3://bucket/prefix.
func parse(address string) (bucket, prefix string, err error) {
	address = strings.TrimPrefix(address, scheme+":")
	rest, ok := strings.CutPrefix(address, "//")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.Trim(prefix, "/")
	if !ok || bucket == "" || prefix != "" && !fs.ValidPath(prefix) || url.PathEscape(bucket) != bucket {
		return "", "", fmt.Errorf("%.200q is no address of a bucket: write s3://bucket/prefix", address)
	}
	return bucket, prefix, nil
}

// open opens the store at an address.
func open(ctx context.Context, o Options, formats []folder.Opener, address string) (_ store.Store, err error) {
	bucket, prefix, err := parse(address)
	if err != nil {
		return nil, err
	}
	on, err := connect(ctx, o, bucket, prefix)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	opened := false
	defer func() {
		if !opened {
			err = errors.Join(err, on.Close())
		}
	}()
	stop := context.AfterFunc(ctx, func() { on.end(context.Cause(ctx)) })
	var tried, missing []string
	for _, f := range formats {
		why, up, ok, err := f.Recognise(ctx, on.tree, path.Base(path.Join(bucket, prefix)))
		switch {
		case err != nil:
			return nil, fmt.Errorf("open %s: %w", address, err)
		case ok:
			way := "."
			if up > 0 {
				way = on.raise(up)
			}
			if !stop() {
				return nil, fmt.Errorf("open %s: %w", address, context.Cause(ctx))
			}
			s, err := f.Open(ctx, on, way)
			opened = err == nil
			return s, err
		}
		tried = append(tried, f.Kind)
		if why != "" {
			missing = append(missing, "\n"+f.Kind+": "+why)
		}
	}
	l, err := on.tree.current()
	if err == nil && len(l.objects) == 0 {
		return nil, fmt.Errorf("open %s: %w: nothing is below that prefix: look at its name, and at --endpoint", address, store.ErrUnrecognised)
	}
	return nil, fmt.Errorf("open %s: %w (tried %s)%s", address, store.ErrUnrecognised, strings.Join(tried, ", "), strings.Join(missing, ""))
}

// Source is a prefix of a bucket in which a storage lies.
type Source struct {
	tree *Tree
	disk *bucketDisk
	end  context.CancelCauseFunc
	o    Options
}

var _ folder.Source = (*Source)(nil)

// connect makes ready to ask for what is below a prefix.
func connect(ctx context.Context, o Options, bucket, prefix string) (*Source, error) {
	life, end := context.WithCancelCause(context.Background())
	c, err := dial(ctx, life, bucket, o.Endpoint)
	if err != nil {
		end(err)
		return nil, err
	}
	if o.pause != nil {
		c.pause = o.pause
	}
	root := ""
	if prefix != "" {
		root = prefix + "/"
	}
	t := &Tree{c: c, root: root, parts: []string{root}}
	return &Source{t, &bucketDisk{c: c, t: t, lease: cmp.Or(o.Lease, leaseTime)}, end, o}, nil
}

// raise makes the storage the folder that is some folders above. Only what was opened is
// listed of it, and what is Hindcast's own. It returns what leads back down.
func (s *Source) raise(up int) (way string) {
	t := s.tree
	at := strings.TrimSuffix(t.root, "/")
	for range up {
		way, at = path.Join(path.Base(at), way), path.Dir(at)
	}
	above := ""
	if at != "." {
		above = at + "/"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.root, t.parts, t.now = above, []string{t.root, above + journal.Folder + "/"}, nil
	return way
}

// Name implements folder.Source.
func (s *Source) Name() string {
	name := scheme + "://" + s.tree.c.bucket
	if s.tree.root != "" {
		name += "/" + strings.TrimSuffix(s.tree.root, "/")
	}
	return name
}

// Tree implements folder.Source.
func (s *Source) Tree() folder.Remote { return s.tree }

// Disk implements folder.Source.
func (s *Source) Disk() disk.Disk { return s.disk }

// Requests implements folder.Source.
func (s *Source) Requests() store.Requests { return s.tree.c.made.read() }

// everyTime is how often a bucket is listed that is followed.
const everyTime = 2 * time.Second

// Watch implements folder.Source: the names are listed again from time to time.
func (s *Source) Watch(ctx context.Context) (<-chan struct{}, error) {
	if _, err := s.tree.current(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		defer cancel()
		defer context.AfterFunc(s.tree.c.life, cancel)()
		s.tree.follow(ctx, cmp.Or(s.o.Every, everyTime), func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	return changed, nil
}

// Close implements folder.Source: what is under way ends.
func (s *Source) Close() error {
	s.end(fs.ErrClosed)
	s.tree.c.http.CloseIdleConnections()
	return nil
}
