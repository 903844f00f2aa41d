package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"hindcast/store"
	"hindcast/store/media/disk"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
)

// scheme is that of addresses.
const scheme = "s3"

// Options say how a bucket is reached.
type Options struct {
	// Endpoint is the URL of the server, "" for the server that the environment and the profile name,
	// or else AWS.
	Endpoint string
	// Lease is how long the claim of a program holds that does not renew it; 0 is a minute.
	Lease time.Duration
	// Every is how often a bucket that is followed is listed; 0 is every other second.
	Every time.Duration

	// pause is that of a client, nil for its own.
	pause func(context.Context, int) error
}

// Finder finds the kind of the store that a source holds, and returns a function that opens it. The error is
// store.ErrUnrecognised if no kind recognises it.
type Finder = func(context.Context, tree.Source) (open func(context.Context) (store.Store, error), err error)

// Kind describes stores that lie in a bucket.
func Kind(o Options, find Finder) store.Kind {
	return store.Kind{
		Name: scheme, Schemes: []string{scheme},
		Open: func(ctx context.Context, address string) (store.Store, error) {
			return openStore(ctx, o, find, address)
		},
		At: func(endpoint string) store.Kind {
			o := o
			o.Endpoint = endpoint
			return Kind(o, find)
		},
	}
}

// errCredentials reports an address with credentials, without repeating any of it.
var errCredentials = errors.New("an address of a bucket has no credentials in it: set AWS_PROFILE, or AWS_ACCESS_KEY_ID " +
	"and AWS_SECRET_ACCESS_KEY, and write s3://bucket/prefix")

// parseAddress takes an address apart: s3://bucket/prefix.
func parseAddress(address string) (bucket, prefix string, err error) {
	address = strings.TrimPrefix(address, scheme+":")
	rest, ok := strings.CutPrefix(address, "//")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.Trim(prefix, "/")
	if strings.Contains(bucket, "@") || strings.Contains(bucket, ":") && !strings.HasPrefix(bucket, "arn:") {
		return "", "", errCredentials
	}
	if !ok || bucket == "" || prefix != "" && !fs.ValidPath(prefix) || url.PathEscape(bucket) != bucket {
		return "", "", fmt.Errorf("%.200q is no address of a bucket: write s3://bucket/prefix", address)
	}
	return bucket, prefix, nil
}

// openStore opens the store at an address.
func openStore(ctx context.Context, o Options, find Finder, address string) (_ store.Store, err error) {
	bucket, prefix, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	on, err := connectSource(ctx, o, bucket, prefix)
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
	if err := on.findObjects(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	open, err := find(ctx, on)
	if errors.Is(err, store.ErrUnrecognised) {
		if alien := on.alienError(ctx); alien != nil {
			err = fmt.Errorf("%w: %w", store.ErrUnrecognised, alien)
		}
	}
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	s, err := open(ctx)
	opened = err == nil
	return s, err
}

// errEmpty: nothing is listed.
var errEmpty = errors.New("nothing is below that prefix: look at its name, and at --endpoint")

// findObjects looks for objects below the address, or an object of that very name.
func (s *Source) findObjects(ctx context.Context) error {
	l, err := s.tree.currentListing()
	if err != nil || len(l.objects) > 0 {
		return err
	}
	if s.tree.at == "" {
		return fmt.Errorf("%w: %w", store.ErrUnrecognised, errEmpty)
	}
	_, _, err = s.tree.c.headObject(ctx, s.tree.at)
	if hasStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%w: %w", store.ErrUnrecognised, errEmpty)
	}
	s.tree.listInstead(s.tree.at)
	return err
}

// mostAlien bounds the objects that are searched for formats not opened here.
const mostAlien = 8

// alienError returns an error that names the content of a prefix that no format opens, and a remedy;
// nil if that is not known.
func (s *Source) alienError(ctx context.Context) error {
	l, err := s.tree.currentListing()
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(l.objects)), func(name string) bool { return !slices.Contains(databases, path.Ext(name)) })
	for _, name := range names[:min(len(names), mostAlien)] {
		if s.isDatabase(ctx, name, l.objects[name]) {
			return &DiskOnlyError{s.tree.c.addressOf(name), "a SQLite database"}
		}
	}
	if at := l.stampOf(s.tree.at); at.Kind == files.Regular {
		return &DiskOnlyError{s.Name(), "one object of no format that is opened there"}
	}
	return nil
}

func (s *Source) isDatabase(ctx context.Context, key string, o object) bool {
	if o.size < int64(len(sqliteHead)) {
		return false
	}
	head, err := s.tree.c.getPart(ctx, key, o.tag, 0, int64(len(sqliteHead)))
	return err == nil && string(head) == sqliteHead
}

// databases are how the names of SQLite databases end, and sqliteHead is how each begins.
var databases = []string{".db", ".db3", ".sqlite", ".sqlite3"}

const sqliteHead = "SQLite format 3\x00"

// Source is a prefix of a bucket in which a storage lies.
type Source struct {
	tree Tree
	disk *bucketDisk
	end  context.CancelCauseFunc
	o    Options
}

var _ tree.Source = (*Source)(nil)

// connectSource prepares requests for the objects below a prefix.
func connectSource(ctx context.Context, o Options, bucket, prefix string) (*Source, error) {
	life, end := context.WithCancelCause(context.Background())
	c, err := newClient(ctx, life, bucket, o.Endpoint)
	if err != nil {
		end(err)
		return nil, err
	}
	if o.pause != nil {
		c.pause = o.pause
	}
	k := &keys{c: c, parts: []string{folderPrefix(prefix)}}
	return newSource(Tree{k, prefix}, end, o), nil
}

func newSource(t Tree, end context.CancelCauseFunc, o Options) *Source {
	return &Source{t, &bucketDisk{c: t.c, t: t, lease: cmp.Or(o.Lease, leaseTime)}, end, o}
}

// folderPrefix returns the prefix of the keys in a folder.
func folderPrefix(at string) string {
	if at == "" {
		return ""
	}
	return at + "/"
}

// At implements tree.Source.
func (s *Source) At(way string) (tree.Source, bool) {
	at := path.Join(s.tree.at, way)
	if at != "" && !fs.ValidPath(at) { // it leads out of the bucket
		return nil, false
	}
	if at == "." {
		at = ""
	}
	return newSource(Tree{s.tree.keys, at}, s.end, s.o), true
}

// Name implements tree.Source.
func (s *Source) Name() string { return strings.TrimSuffix(s.tree.c.addressOf(s.tree.at), "/") }

// Folder implements tree.Source.
func (s *Source) Folder() string { return "" }

// Server implements tree.Source.
func (s *Source) Server() (bucket, prefix, endpoint string) {
	return s.tree.c.bucket, s.tree.at, s.o.Endpoint
}

// Copying implements tree.Source, with the command of AWS.
func (s *Source) Copying() string {
	text := "aws s3 sync " + quoteWord(s.Name()) + " ."
	if s.o.Endpoint != "" {
		text += " --endpoint-url " + quoteWord(s.o.Endpoint)
	}
	return text
}

// quoteWord returns a word for a shell.
func quoteWord(word string) string {
	if strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/:._-", r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Tree implements tree.Source.
func (s *Source) Tree() tree.Remote { return s.tree }

// Disk implements tree.Source.
func (s *Source) Disk() disk.Disk { return s.disk }

// Requests implements tree.Source.
func (s *Source) Requests() store.Requests { return s.tree.c.made.read() }

// everyTime is how often a bucket is listed that is followed.
const everyTime = 2 * time.Second

// Watch implements tree.Source: the names are listed again from time to time.
func (s *Source) Watch(ctx context.Context) (<-chan struct{}, error) {
	if _, err := s.tree.currentListing(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		defer cancel()
		defer context.AfterFunc(s.tree.c.life, cancel)()
		s.tree.followChanges(ctx, cmp.Or(s.o.Every, everyTime), func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	return changed, nil
}

// Close implements tree.Source: what is under way ends.
func (s *Source) Close() error {
	s.end(fs.ErrClosed)
	s.tree.c.http.CloseIdleConnections()
	return nil
}
