// Command releases builds the archives and packages of a version. See .ci/release.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hindcast/store/storetest/program"
)

// The tools of others, by version.
const (
	packager = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0"
	lister   = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"
)

const (
	name    = "hindcast"
	summary = "Travel through the sessions of an agent, and put one back"
	license = "Apache-2.0"
)

// documents lie in each archive and package.
var documents = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md"}

// completions are the shells, and where a system looks for their scripts.
var completions = []struct{ shell, file, system string }{
	{"bash", "hindcast.bash", "/usr/share/bash-completion/completions/hindcast"},
	{"zsh", "_hindcast", "/usr/share/zsh/vendor-completions/_hindcast"},
	{"fish", "hindcast.fish", "/usr/share/fish/vendor_completions.d/hindcast.fish"},
	{"powershell", "hindcast.ps1", ""},
}

// target is a system and a processor.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "/" + t.processor }

func (t target) program() string {
	if t.system == "windows" {
		return name + ".exe"
	}
	return name
}

// targets returns the targets of a release.
func targets() (all []target) {
	for _, system := range []string{"darwin", "freebsd", "linux", "windows"} {
		for _, processor := range []string{"amd64", "arm64"} {
			all = append(all, target{system, processor})
		}
	}
	return all
}

// release is the release in the making.
type release struct {
	version string
	out     string
	// home is the address of the project. It follows from the path of the module.
	home  string
	time  time.Time
	tools bool
	// work is the folder of the programs, until the release is made.
	work string
	// pages are the manual and the completions, by their names in an archive.
	pages map[string][]byte
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// semantic is the form of a version, without a v.
var semantic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`) })

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	only := flags.String("only", "", "the `targets` to build, as linux/amd64,windows/arm64")
	archives := flags.Bool("archives", false, "make no packages and no list of parts")
	var words []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	if len(words) == 0 || len(words) > 2 || !semantic().MatchString(strings.TrimPrefix(words[0], "v")) {
		return errors.New("usage: .ci/release VERSION [OUT], with a version such as 1.2.3 or v1.2.3-rc.1")
	}
	r := &release{version: strings.TrimPrefix(words[0], "v"), out: "release", tools: !*archives, pages: map[string][]byte{}}
	if len(words) == 2 {
		r.out = words[1]
	}
	var chosen []target
	for _, t := range targets() {
		if *only == "" || slices.Contains(strings.Split(*only, ","), t.String()) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %s fits no target of %v", *only, targets())
	}
	err := r.prepare()
	if err == nil {
		err = r.make(chosen)
	}
	return errors.Join(err, os.RemoveAll(r.work))
}

// prepare finds the time and the home, and makes the folders. It refuses a folder that has files: they would
// go along.
func (r *release) prepare() error {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		last, err := command("git", "log", "-1", "--format=%ct")
		if err != nil {
			return err
		}
		seconds = last
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(epoch, 0).UTC()
	module, err := command("go", "list", "-m")
	if err != nil {
		return err
	}
	r.home = homeOf(module)
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if there, err := os.ReadDir(r.out); err != nil || len(there) > 0 {
		return cmp.Or(err, fmt.Errorf("%s is not empty", r.out))
	}
	r.work, err = os.MkdirTemp("", "release-")
	return err
}

// homeOf returns the address of the project. A module whose path begins with no host has none yet, and stands
// at a name that is kept free for examples.
func homeOf(module string) string {
	if host, _, _ := strings.Cut(module, "/"); strings.Contains(host, ".") {
		return "https://" + module
	}
	return "https://example.com/" + module
}

func (r *release) make(chosen []target) error {
	here := target{runtime.GOOS, runtime.GOARCH}
	if _, err := r.build(here); err != nil {
		return err
	}
	if err := r.writePages(filepath.Join(r.work, here.String(), here.program())); err != nil {
		return err
	}
	for _, t := range chosen {
		built, err := r.build(t)
		if err == nil {
			err = r.archive(t, built)
		}
		if err == nil && r.tools && t.system == "linux" {
			err = r.packages(t, built)
		}
		if err == nil && r.tools {
			err = r.parts(t, built)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
		info, err := os.Stat(built)
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %5.1f MB\n", t, float64(info.Size())/1e6)
	}
	sums, err := r.checksums()
	if err != nil {
		return err
	}
	return errors.Join(r.writeFormula(sums), r.writeManifest(sums))
}

// build compiles the program for a target and returns its path.
func (r *release) build(t target) (string, error) {
	built := filepath.Join(r.work, t.String(), t.program())
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	env, build := program.Release()
	for i, word := range build {
		if strings.HasPrefix(word, "-ldflags=") {
			build[i] = word + " -X main.released=v" + r.version
		}
	}
	cmd := exec.Command(build[0], append(build[1:], "-buildvcs=false", "-o", built, ".")...)
	cmd.Env = append(append(os.Environ(), env...), "GOOS="+t.system, "GOARCH="+t.processor, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	return built, cmd.Run()
}

// writePages keeps the manual and the completions of a program.
func (r *release) writePages(program string) error {
	commands, err := command(program, "__complete", "man", "")
	if err != nil {
		return err
	}
	names := []string{""}
	for line := range strings.Lines(commands) {
		if sub := strings.TrimSpace(line); sub != "" && !strings.HasPrefix(sub, ":") {
			names = append(names, sub)
		}
	}
	for _, sub := range names {
		file, args := "man/"+name+".1", []string{"man"}
		if sub != "" {
			file, args = "man/"+name+"-"+sub+".1", append(args, sub)
		}
		text, err := command(program, args...)
		if err != nil {
			return err
		}
		r.pages[file] = []byte(text + "\n")
	}
	for _, c := range completions {
		text, err := command(program, "completion", c.shell)
		if err != nil {
			return err
		}
		r.pages["completions/"+c.file] = []byte(text + "\n")
	}
	return nil
}

// file is one of an archive.
type file struct {
	name string
	data []byte
	mode int64
}

// files returns the files of an archive, in order.
func (r *release) files(t target, built string) ([]file, error) {
	text, err := os.ReadFile(built)
	if err != nil {
		return nil, err
	}
	list := []file{{t.program(), text, 0o755}}
	for _, d := range documents {
		text, err := os.ReadFile(d)
		if err != nil {
			return nil, err
		}
		list = append(list, file{d, text, 0o644})
	}
	for at, text := range r.pages {
		list = append(list, file{at, text, 0o644})
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// stem returns the name of an archive without its ending, which is also the folder in it.
func (r *release) stem(t target) string {
	return strings.Join([]string{name, r.version, t.system, t.processor}, "_")
}

func (r *release) archiveName(t target) string {
	if t.system == "windows" {
		return r.stem(t) + ".zip"
	}
	return r.stem(t) + ".tar.gz"
}

func (r *release) archive(t target, built string) error {
	list, err := r.files(t, built)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	pack := r.packTar
	if t.system == "windows" {
		pack = r.packZip
	}
	if err := pack(&b, r.stem(t), list); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, r.archiveName(t)), b.Bytes(), 0o644)
}

func (r *release) packTar(w io.Writer, folder string, list []file) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	to := tar.NewWriter(packed)
	for _, f := range list {
		head := &tar.Header{Name: path.Join(folder, f.name), Mode: f.mode, Size: int64(len(f.data)), ModTime: r.time, Format: tar.FormatUSTAR}
		if err := to.WriteHeader(head); err != nil {
			return err
		}
		if _, err := to.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(to.Close(), packed.Close())
}

func (r *release) packZip(w io.Writer, folder string, list []file) error {
	to := zip.NewWriter(w)
	for _, f := range list {
		head := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: r.time}
		head.SetMode(os.FileMode(f.mode))
		in, err := to.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := in.Write(f.data); err != nil {
			return err
		}
	}
	return to.Close()
}

// packages makes the deb and the rpm of a target.
func (r *release) packages(t target, built string) error {
	folder := filepath.Join(r.work, "pages")
	type info struct {
		Mode  int    `json:"mode"`
		MTime string `json:"mtime"`
	}
	type content struct {
		Src  string `json:"src"`
		Dst  string `json:"dst"`
		Info info   `json:"file_info"`
	}
	when := r.time.Format(time.RFC3339)
	contents := []content{{built, "/usr/bin/" + name, info{0o755, when}}}
	put := func(at, system string, text []byte) error {
		src := filepath.Join(folder, filepath.FromSlash(at))
		contents = append(contents, content{src, system, info{0o644, when}})
		return errors.Join(os.MkdirAll(filepath.Dir(src), 0o755), os.WriteFile(src, text, 0o644))
	}
	for _, c := range completions {
		if c.system == "" {
			continue
		}
		if err := put("completions/"+c.file, c.system, r.pages["completions/"+c.file]); err != nil {
			return err
		}
	}
	for at, text := range r.pages {
		if !strings.HasPrefix(at, "man/") {
			continue
		}
		var packed bytes.Buffer
		to, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one of gzip's
		_, err := to.Write(text)
		if err := errors.Join(err, to.Close()); err != nil {
			return err
		}
		if err := put(at+".gz", "/usr/share/man/man1/"+path.Base(at)+".gz", packed.Bytes()); err != nil {
			return err
		}
	}
	for _, d := range documents {
		system := d
		if d == "LICENSE" {
			system = "copyright"
		}
		contents = append(contents, content{d, "/usr/share/doc/" + name + "/" + system, info{0o644, when}})
	}
	slices.SortFunc(contents, func(a, b content) int { return strings.Compare(a.Dst, b.Dst) })
	config, err := json.Marshal(map[string]any{
		"name": name, "arch": t.processor, "platform": t.system, "version": r.version, "version_schema": "semver",
		"section": "devel", "priority": "optional", "maintainer": "The authors of Hindcast <" + r.home + ">",
		"description": summary, "homepage": r.home, "license": license, "mtime": when, "contents": contents,
		"rpm": map[string]any{"buildhost": "localhost"},
	})
	if err != nil {
		return err
	}
	at := filepath.Join(r.work, "nfpm.yaml") // JSON is YAML
	if err := os.WriteFile(at, config, 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		if err := r.runTool(packager, "package", "-f", at, "-p", kind, "-t", filepath.Join(r.out, r.stem(t)+"."+kind)); err != nil {
			return err
		}
	}
	return nil
}

// parts writes the list of the modules in a program.
func (r *release) parts(t target, built string) error {
	at := filepath.Join(r.out, r.stem(t)+".cdx.json")
	if err := r.runTool(lister, "bin", "-json", "-noserial", "-version", "v"+r.version, "-output", at, built); err != nil {
		return err
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	var list map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if about, is := list["metadata"].(map[string]any); is {
		about["timestamp"] = r.time.Format(time.RFC3339) // the tool writes when it ran
		tools, _ := about["tools"].([]any)
		for _, tool := range tools {
			if tool, is := tool.(map[string]any); is {
				delete(tool, "hashes") // of the tool as this machine built it
			}
		}
	}
	if text, err = json.MarshalIndent(list, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(at, append(text, '\n'), 0o644)
}

// runTool runs a tool of others, which is built once and kept by Go.
func (r *release) runTool(module string, args ...string) error {
	cmd := exec.Command("go", append([]string{"run", module}, args...)...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", module, err, out)
	}
	return nil
}

// checksums writes the SHA-256 of each file and returns them by name.
func (r *release) checksums() (map[string]string, error) {
	there, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	sums, text := map[string]string{}, ""
	for _, f := range there {
		data, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return nil, err
		}
		sums[f.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
		text += sums[f.Name()] + "  " + f.Name() + "\n"
	}
	return sums, os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(text), 0o644)
}

// address returns where the archive of a target is fetched from.
func (r *release) address(t target) string {
	return fmt.Sprintf("%s/releases/download/v%s/%s", r.home, r.version, r.archiveName(t))
}

// writeFormula writes the formula of Homebrew.
func (r *release) writeFormula(sums map[string]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Hindcast < Formula\n  desc %q\n  homepage %q\n  version %q\n  license %q\n", summary, r.home, r.version, license)
	for _, system := range []struct{ goos, block string }{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		fmt.Fprintf(&b, "\n  %s do\n", system.block)
		for _, processor := range []struct{ goarch, block string }{{"arm64", "on_arm"}, {"amd64", "on_intel"}} {
			t := target{system.goos, processor.goarch}
			if sum := sums[r.archiveName(t)]; sum != "" {
				fmt.Fprintf(&b, "    %s do\n      url %q\n      sha256 %q\n    end\n", processor.block, r.address(t), sum)
			}
		}
		fmt.Fprintln(&b, "  end")
	}
	fmt.Fprint(&b, `
  def install
    bin.install "hindcast"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/hindcast.bash" => "hindcast"
    zsh_completion.install "completions/_hindcast"
    fish_completion.install "completions/hindcast.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hindcast --version")
  end
end
`)
	return os.WriteFile(filepath.Join(r.out, name+".rb"), []byte(b.String()), 0o644)
}

// writeManifest writes the manifest of Scoop.
func (r *release) writeManifest(sums map[string]string) error {
	type source struct {
		URL    string `json:"url"`
		Hash   string `json:"hash"`
		Folder string `json:"extract_dir"`
	}
	from := map[string]source{}
	for processor, key := range map[string]string{"amd64": "64bit", "arm64": "arm64"} {
		t := target{"windows", processor}
		if sum := sums[r.archiveName(t)]; sum != "" {
			from[key] = source{r.address(t), sum, r.stem(t)}
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"version": r.version, "description": summary, "homepage": r.home, "license": license,
		"architecture": from, "bin": name + ".exe",
	}, "", "    ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".json"), append(text, '\n'), 0o644)
}

// command runs a program and returns its output, without the end of the last line.
func command(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HINDCAST_PAGER=", "HINDCAST_THEME=unicode", "LC_ALL=C.UTF-8")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, failed.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
