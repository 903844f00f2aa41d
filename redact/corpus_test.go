package redact_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindcast/redact"
)

// The secrets of the corpus are drawn from patterns by a fixed seed, so that the file has none.
// A class and a length in braces stand for random letters: a small letters, A letters of both
// cases, n both and digits, l small letters and digits, U capitals and digits, h and H
// hexadecimal digits, d digits, b base64 of URLs, B base64, p what is in a password. {u} is a
// UUID. What is between the marks « and » is the secret; all of it where there are none.
//
// Each pattern is as its vendor documents it, or as a scanner's public rule has it.
var secretPatterns = strings.Split(strings.TrimSpace(`
ghp_{n36}
gho_{n36}
ghu_{n36}
ghs_{n36}
ghr_{n36}
github_pat_{n22}_{n59}
glpat-{b20}
gldt-{b20}
glrt-{b20}
glptt-{h40}
glcbt-{l2}_{b20}
glsoat-{b20}
glft-{b20}
glffct-{b20}
glimt-{b25}
glagent-{b50}
gloas-{b64}
GR1348941{b20}
xoxb-{d12}-{d12}-{n24}
xoxp-{d12}-{d12}-{d12}-{h32}
xoxa-2-{d12}-{n24}
xoxr-{n24}
xoxe.xoxp-1-{U160}
xapp-1-{U11}-{d13}-{h64}
xoxc-{d12}-{d12}-{h64}
hooks.slack.com/services/«T{U10}/B{U10}/{n24}»
hooks.slack.com/workflows/«T{U10}/A{U10}/{d18}/{n24}»
discord.com/api/webhooks/{d18}/«{b68}»
hooks.zapier.com/hooks/catch/{d7}/«{l7}/»
contoso.webhook.office.com/webhookb2/«{u}@{u}/IncomingWebhook/{h32}/{u}»
sk-{n48}
sk-proj-{b64}
sk-svcacct-{b60}
sk-admin-{b60}
sk-ant-api03-{b93}AA
sk-ant-admin01-{b93}AA
sk-ant-oat01-{b93}AA
sk-or-v1-{h64}
sk-lf-{u}
pk-lf-{u}
sk_live_{n24}
sk_test_{n24}
rk_live_{n24}
sk_prod_{n24}
whsec_{n32}
AIza{b35}
ya29.{b60}
GOCSPX-{b28}
1//0{b40}
AKIA{U16}
ASIA{U16}
LTAI{n20}
ABSK{B110}
hf_{A34}
api_org_{A34}
gsk_{n52}
xai-{n80}
csk-{l48}
nvapi-{b64}
lsv2_pt_{h32}_{h10}
lsv2_sk_{h32}_{h10}
jina_{h32}{b28}
pcsk_{n6}_{n60}
phc_{n43}
phx_{n43}
pplx-{n48}
r8_{n37}
tvly-{n32}
tvly-dev-{n32}
tgp_v1_{b43}
esecret_{n40}
fw_{n22}
fw_3Z{n20}
rpa_{U40}
e2b_{h40}
bkua_{h40}
as-{n22}
ak-{n22}
ctx7sk-{u}
fc-{h32}
BSA{b28}
npm_{n36}
pypi-AgEIcHlwaS5vcmc{b80}
rubygems_{h48}
CLOJARS_{h60}
dckr_pat_{b27}
dckr_oat_{b32}
oy2{l43}
hvs.{b92}
hvb.{b140}
s.{n24}
dop_v1_{h64}
doo_v1_{h64}
dor_v1_{h64}
dapi{h32}
dapi{h32}-2
dkea{h32}
shpat_{h32}
shpca_{h32}
shppa_{h32}
shpss_{h32}
SG.{b22}.{b43}
lin_api_{n40}
lin_oauth_{h64}
PMAK-{h24}-{h34}
sntrys_{b80}_{b43}
sntryu_{h64}
glsa_{n32}_{h8}
glc_{B80}
NRAK-{U27}
NRII-{b32}
NRJS-{h19}
ntn_{d11}{n35}
secret_{n43}
figd_{b40}
sbp_{h40}
sb_secret_{b31}
vercel_{n24}
rnd_{n32}
nfp_{n36}
mdb_sa_sk_{b40}
ATATT3{b180}
ATCTT3{b180}
ATBB{n32}
BBDC-{B44}
{n14}.atlasv1.{b67}
access-sandbox-{u}
access-production-{u}
pat-na1-{u}
pat-eu1-{u}
CFPAT-{b43}
tskey-auth-{n17}-{n32}
tskey-api-{n17}-{n32}
tskey-client-{n17}-{n32}
apify_api_{n36}
ddp_{n36}
pscale_tkn_{b43}
pscale_pw_{b43}
pscale_oauth_{b43}
rdme_{l70}
shippo_live_{h40}
shippo_test_{h40}
sgp_{h16}_{h40}
sgp_{h40}
squ_{h40}
sqp_{h40}
sqa_{h40}
sq0atp-{b22}
sq0csp-{b43}
EAAA{b60}
EAAC{n120}
tfp_{b44}_{b14}
xkeysib-{h64}-{n16}
xsmtpsib-{h64}-{n16}
dp.pt.{n43}
dp.st.dev.{n40}
duffel_test_{b43}
duffel_live_{b43}
dt0c01.{U24}.{U64}
EZAK{n54}
EZTK{n54}
FLWSECK_TEST-{h32}-X
fo1_{b43}
fm2_{B120}
fio-u-{b64}
HRKU-AA{b58}
sm_pat_{n16}
sm_aat_{n16}
p8e-{l32}
pul-{h40}
pnu_{n36}
ico-{n32}
tk-us-{b48}
amzn.mws.{u}
AKCp{n69}
cmVmdGtuOj{n54}
pat{n14}.{h64}
AQVN{b36}
YC{b38}
t1.{b40}.{b86}
sha256~{b43}
API-{U26}
sdk-{u}
mob-{u}
api-{u}
re_{n8}_{n24}
key-{h32}
live_{h35}
test_{h35}
SK{h32}
AC{h32}
{d10}:AA{b33}
{h32}-us14
{n3}8Q~{b34}
AGE-SECRET-KEY-1{U58}
eyJhbGciOiJIUzI1NiJ9.eyJ{b40}.{b43}
ops_eyJ{n260}
4b1d{n38}
A{n25}{n6}.{b38}
M{n25}.G{n5}.{b38}
{n32}
{n40}
{n48}
{n64}
{b43}
{b64}
{B44}
{B88}
{l32}
{l40}
{l48}
{U40}
{h32}
{h32}
{h32}
{h37}
{h48}
{h50}
{H32}
{H40}
wJalr{B35}
-----BEGIN RSA PRIVATE KEY----- {B200} -----END RSA PRIVATE KEY-----
-----BEGIN EC PRIVATE KEY----- {B120} -----END EC PRIVATE KEY-----
-----BEGIN OPENSSH PRIVATE KEY----- {B300} -----END OPENSSH PRIVATE KEY-----
-----BEGIN PRIVATE KEY----- {B300} -----END PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK----- {B200} -----END PGP PRIVATE KEY BLOCK-----
postgres://app:«{p14}»@db.example.com:5432/app
postgresql://svc:«{n16}»@10.0.0.7/app
mysql://root:«{p10}»@localhost/shop
mongodb+srv://app:«{n16}»@cluster0.example.net/prod
redis://:«{n20}»@cache.example.com:6379/0
rediss://default:«{l24}»@cache.example.com:6380
amqp://mq:«{p12}»@mq.example.com/vhost
https://bot:«{n20}»@git.example.com/a/b.git
https://«{n40}»@git.example.com/a/b.git
ftp://up:«{p9}»@ftp.example.com
smtp://mail:«{p12}»@smtp.example.com:587
https://«{h32}»@o1.ingest.example.io/42
DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=«{B86}==»;EndpointSuffix=core.example.net
Endpoint=sb://x.example.net/;SharedAccessKeyName=Root;SharedAccessKey=«{B43}=»
https://acc.blob.example.net/c?sv=2022&sig=«{n40}%3D»
Server=db;Database=app;User Id=sa;Password=«{p12}»;
curl -u deploy:«{p12}» https://ci.example.com/job
curl --user admin:«{n16}» https://ci.example.com
curl -H 'X-Api-Key: «{l24}»' https://api.example.com
curl -H "Authorization: Bearer «{b30}»" https://api.example.com
curl -H 'Authorization: Basic «{n28}==»' https://api.example.com
curl -H 'Authorization: Splunk «{u}»' https://hec.example.com
curl -H 'X-Postmark-Server-Token: «{u}»' https://api.example.com
https://maps.example.com/json?key=«{n28}»
https://api.example.com/v1?api_key=«{l20}»&q=1
https://api.example.com/v1?access_token=«{n24}»
https://api.example.com/v1?token=«{h24}»
mysql -h db -u root -p«{p12}» shop
mysqldump -uroot -p«{n12}» shop
sshpass -p «{p12}» ssh root@10.0.0.7
sshpass -p '«{p12}»' scp a b:
docker login -u bot -p «{n16}» registry.example.com
helm registry login r.example.com -u bot -p «{n16}»
redis-cli -h cache -a «{n16}» ping
openssl rsa -in k.pem -passin pass:«{p12}»
openssl enc -aes-256-cbc -pass pass:«{n14}» -in x
machine api.example.com login bob password «{n14}»
db.example.com:5432:app:bob:«{n14}»
localhost:*:*:postgres:«{p12}»
ldapsearch -D cn=admin -w «{n12}» -b dc=x
sqlplus scott/«{n12}»@//db:1521/X
DB_PASS=«{p12}»
DB_PASSWORD=«{n12}»
export PGPASSWORD=«{p12}»
MYSQL_PWD=«{n12}»
SMTP_PASS="«{p12}»"
pass: «{p12}»
password: «{p12}»
password: "«{p10}»"
Passwort: «{p10}»
Kennwort: «{n12}»
mot de passe : «{p12}»
contraseña: «{p12}»
пароль: «{p12}»
密码: «{p12}»
the password is «{p12}»
--password «{p12}»
--password=«{n12}»
--api-key «{l24}»
--token=«{h24}»
IDENTIFIED BY '«{p12}»'
ALTER ROLE app WITH PASSWORD '«{p12}»'
requirepass «{n20}»
keytool -storepass «{n12}» -list
<password>«{p12}»</password>
<add key="DbPassword" value="«{p12}»"/>
client_secret=«{n20}»
clientSecret: '«{b20}»'
api_key = "«{l24}»"
apiKey: "«{h24}»"
const token = '«{n20}»'
os.environ["OPENAI_KEY"] = "«{n24}»"
aws_secret_access_key = «{B40}»
aws configure set aws_secret_access_key «{B40}»
SECRET_KEY='django-insecure-«{p30}»'
HEROKU_API_KEY=«{u}»
RAILWAY_TOKEN=«{u}»
SNYK_TOKEN=«{u}»
CODECOV_TOKEN=«{u}»
EXA_API_KEY=«{u}»
DD_API_KEY=«{h32}»
DD_APP_KEY=«{h40}»
SERPER_API_KEY=«{h40}»
DEEPGRAM_API_KEY=«{h40}»
ETH_PRIVATE_KEY=0x«{h64}»
JWT_SECRET=«{h64}»
SESSION_SECRET: «{n32}»
//registry.example.com/:_authToken=«{u}»
auth=("bob", "«{p12}»")
setPassword("«{p12}»")
Set-Cookie: session=«{n32}»; Path=/; HttpOnly
Cookie: sid=«{n24}»
X-Vault-Token: «{n24}»
PRIVATE-TOKEN: «{n20}»
seed phrase «legal winner thank year wave sausage worth useful legal winner thank yellow»
«abandon ability able about above absent absorb abstract absurd abuse access accident»
`), "\n")

// places are where a secret stands. The second of each says how it is written there.
var places = []struct {
	name  string
	write func(string) string
}{
	{"sentence", func(s string) string { return quoted("I tried it with " + s + " yesterday, and it worked.") }},
	{"JSON value", func(s string) string { return `{"note":` + quoted(s) + `}` }},
	{"line of a file", func(s string) string { return quoted("# settings\n" + s + "\nDEBUG=1\n") }},
	{"YAML", func(s string) string { return quoted("service:\n  setting: '" + s + "'\n  debug: true\n") }},
	{"header of curl", func(s string) string { return quoted(`curl -H "X-Thing: ` + s + `" https://api.example.com/v1/items`) }},
	{"query of a URL", func(s string) string {
		return quoted("see https://api.example.com/v1/items?v=" + url.QueryEscape(s) + "&page=2 for it")
	}},
	{"code", func(s string) string { return quoted("func main() {\n\tuse(`" + s + "`) // for now\n}\n") }},
	{"argument of a command", func(s string) string { return quoted("$ run --with '" + s + "' --verbose\nok\n") }},
	{"percent-encoded", func(s string) string { return quoted("q=" + url.PathEscape(s)) }},
	{"JSON in a text", func(s string) string { return quoted(`{"args":` + quoted(`{"v":`+quoted(s)+`}`) + `}`) }},
	{"piece of JSON", func(s string) string { return quoted(`cut off: {"v":` + quoted(s) + `,"w":`) }},
	{"table", func(s string) string { return quoted("| what | value |\n|---|---|\n| it | " + s + " |\n") }},
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

var class = regexp.MustCompile(`\{([aAnlUhHdbBp])([0-9]+)\}|\{u\}`)

// drawn fills a pattern with random letters.
func drawn(random *rand.Rand, pattern string) string {
	const small, capitals, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	classes := map[byte]string{
		'a': small, 'A': small + capitals, 'n': small + capitals + digits, 'l': small + digits, 'U': capitals + digits, 'd': digits,
		'h': "0123456789abcdef", 'H': "0123456789ABCDEF", 'b': small + capitals + digits + "-_", 'B': small + capitals + digits + "+/",
		'p': small + capitals + digits + "!#$*+_-%",
	}
	var out strings.Builder
	letters := func(class byte, n int) {
		word := make([]byte, n)
		for {
			for i := range word {
				word[i] = classes[class][random.IntN(len(classes[class]))]
			}
			// A password has letters and digits, and begins and ends with one.
			if class != 'p' || strings.ContainsAny(string(word), digits) && !strings.ContainsAny(string(word[:1])+string(word[n-1:]), "!#$*+_-%") {
				break
			}
		}
		out.Write(word)
	}
	from := 0
	for _, m := range class.FindAllStringSubmatchIndex(pattern, -1) {
		out.WriteString(pattern[from:m[0]])
		from = m[1]
		if m[2] < 0 {
			for i, n := range []int{8, 4, 4, 4, 12} {
				if i > 0 {
					out.WriteByte('-')
				}
				letters('h', n)
			}
			continue
		}
		n, _ := strconv.Atoi(pattern[m[4]:m[5]])
		letters(pattern[m[2]], n)
	}
	out.WriteString(pattern[from:])
	return out.String()
}

// Of realistic secrets at most a few are left at each place, whatever they stand in.
func TestCorpus_secrets(t *testing.T) {
	const most = 5
	if len(secretPatterns) < 250 {
		t.Fatalf("only %d secrets", len(secretPatterns))
	}
	for _, place := range places {
		random := rand.New(rand.NewPCG(31, 12))
		var left []string
		for _, pattern := range secretPatterns {
			whole := drawn(random, pattern)
			secret := strings.ReplaceAll(strings.ReplaceAll(whole, "«", ""), "»", "")
			whole, secret = secret, markedPart(whole, secret)
			out, _ := hidden(t, redact.Options{}, place.write(whole))
			all, _ := url.QueryUnescape(flat(out[0]))
			if raw, _ := url.PathUnescape(flat(out[0])); strings.Contains(flat(out[0]), secret) || strings.Contains(all, secret) || strings.Contains(raw, secret) {
				left = append(left, pattern)
			}
		}
		t.Logf("%s: %d of %d left", place.name, len(left), len(secretPatterns))
		if len(left) > most || os.Getenv("HINDCAST_CORPUS") != "" {
			t.Errorf("%s: %d of %d secrets are left: %q", place.name, len(left), len(secretPatterns), left)
		}
	}
}

// markedPart returns what is between « and », or all.
func markedPart(text, all string) string {
	if _, rest, found := strings.Cut(text, "«"); found {
		inner, _, _ := strings.Cut(rest, "»")
		return inner
	}
	return all
}

// harmlessPatterns are what looks like a secret and is none, and what speaks of secrets.
var harmlessPatterns = strings.Split(strings.TrimSpace(`
line line line line line line line line line line line line line line line line
wait wait wait wait done wait wait wait wait done wait wait wait wait done
commit {h40}
{h40}
Merge: {h40} {h40}
HEAD is now at {h40} tidy up
index {h40}..{h40} 100644
git show {h40} --stat
git rebase --onto {h40} main
[main {h40}] fix the build
https://git.example.com/a/b/commit/{h40}
https://git.example.com/a/b/blob/{h40}/main.go#L3
uses: actions/checkout@{h40}
parent {h40}
tree {h40}
Author date, revision {h40}
the fix is in {h40}, on main
submodule at {h40}
{h64}
{h64}  release.tar.gz
{h32}  release.tar.gz
{h128}
sha256:{h64}
SHA-256 {h64}
sha512: {h128}
md5 {h32}
MD5 (file) = {h32}
checksum = "{h64}"
digest: sha256:{h64}
image: registry.example.com/app@sha256:{h64}
FROM golang@sha256:{h64}
Pulled sha256:{h64} for linux/amd64
oid sha256:{h64}
--hash=sha256:{h64}
h1:{B43}=
example.com/mod v1.2.3 h1:{B43}=
example.com/mod v1.2.3/go.mod h1:{B43}=
integrity: sha512-{B86}==
"integrity": "sha512-{B86}=="
"integrity": "sha384-{B64}"
<script src="/a.js" integrity="sha256-{B43}=">
resolved "https://registry.example.com/x.tgz#{h40}"
ETag: "{h32}"
ETag: W/"{h40}"
etag={h40}
If-None-Match: "{h64}"
toolu_01{n22}
toolu_vrtx_01{n22}
toolu_bdrk_01{n22}
tooluse_{b22}
srvtoolu_01{n22}
call_{n24}
msg_01{n22}
msg_{h48}
run_{n24}
thread_{n24}
resp_{h48}
rs_{h48}
fc_{h48}
chatcmpl-{n29}
cmpl-{n29}
gen-1700000000-{n20}
asst_{n24}
file-{n22}
vs_{h32}
batch_{h32}
step_{n24}
req_01{n22}
conv_{h48}
session_01{n22}
proj_{n24}
org-{n24}
cus_{n14}
evt_1{n23}
pi_3{n23}
sub_1{n23}
run-{u}
lc_run--{u}
{u}
session {u}
request id {u}
trace_id={h32}
trace id: {h32}
traceparent: 00-{h32}-{h16}-01
span {h16} of trace {h32}
X-Amzn-Trace-Id: Root=1-{h8}-{h24}
01ARZ3NDEKTSV4RRFFQ69G5FAV
id 01JD5X7K9QZ8M4T2V6B3N1C0WR of the run
user_01h455vb4pex5vsknk084sn02q
clh3am8xk0000qzrmn831i7rn
payments-api-7d9f8b6c5d-x2x9k
pod/web-5c8f7b9d6f-hk2lm is Running
backup-28374650-abcde
ip-10-0-3-17.eu-west-1.compute.internal
i-0{h16}
vpc-0{h16}
subnet-0{h16}
arn:aws:iam::123456789012:role/deploy-role
507f1f77bcf86cd799439011
bundle/index-{n8}.js
main.{h20}.chunk.js
/var/folders/q7/{l30}/T/x
/nix/store/{l32}-hello-2.12
/tmp/pytest-of-user/pytest-12/test_login0/out
node_modules/.pnpm/react@18.2.0/node_modules/react
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} bob@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{B200} bob@host
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB{B86}=
SHA256:{B43} bob@host (ED25519)
-----BEGIN PUBLIC KEY-----\n{B64}\n{B64}\n-----END PUBLIC KEY-----
-----BEGIN CERTIFICATE-----\n{B64}\n{B64}\n{B64}\n-----END CERTIFICATE-----
-----BEGIN PGP SIGNATURE-----\n{B64}\n-----END PGP SIGNATURE-----
age1{l58}
cf-ray: {h16}-FRA
tx 0x{h64}
build 20240102.3+{h40}
key: deps-v1-{h64}
Password: (leave empty)
Set-Cookie: theme=dark; Path=/
mongodb://<user>:<password>@host/db
tls.crt: LS0tLS1CRUdJTiBDRVJU
0x{h40}
bc1q{l38}
api_key=YOUR_API_KEY
API_KEY=your-api-key-here
api_key: <your key>
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
ANTHROPIC_API_KEY=sk-ant-your-key-here
password = "changeme"
password: ********
password: "${DB_PASSWORD}"
password: $DB_PASSWORD
DB_PASSWORD={{ .Values.db.password }}
TOKEN=$(cat /run/secrets/token)
token: ${{ secrets.GITHUB_TOKEN }}
token = process.env.GITHUB_TOKEN
api_key=os.environ["OPENAI_API_KEY"]
api_key = os.getenv("OPENAI_API_KEY")
apiKey: import.meta.env.VITE_API_KEY
password = getpass.getpass("Password: ")
secret := loadSecret(ctx, name)
const token = await fetchToken(user)
token = request.headers["Authorization"]
password: string (required)
password: string;
token: string | null
secret?: string
apiKey: Optional[str] = None
password=form.cleaned_data["password"]
def login(user: str, password: str) -> bool:
if password != confirm_password:
token: separator
the token: a word or a part of one
explain the secret: content of the tutorial
Explain the secret: content of the tutorial, and password: messages.
the secret: practice every day
Password: required
Enter password:
forgot your password? reset it here
password must have 8 characters
the password is wrong
the token is expired
a bearer of good news
Bearer authentication is used
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer ${API_TOKEN}
curl -u user:$PASSWORD https://api.example.com
mysql -u root -p
docker login -u bot --password-stdin registry.example.com
postgres://user:${DB_PASSWORD}@db:5432/app
postgres://USER:PASSWORD@HOST:5432/DB
https://example.com/reset?token=<token>
cookie: none
max_tokens: 4096
next_token: 2
keyboard: qwerty layout
primary key: customer_id
"key": "value"
public_key: {B43}=
PASS: TestRedact_hidesWhatItShould (0.03s)
--- PASS: TestLogin_withPassword2 (0.00s)
tokenizer: cl100k_base
getUserAccountBalanceV2WithRetry
com.example.PaymentServiceV3Handler
HINDCAST_SQLITE_3_BUSY_TIMEOUT
2026-05-04T12:04:28.123456789Z
v20.11.1-alpine3.19
sk-learn-contrib-and-more-words
secret/data/app#password
secretKeyRef: app-secrets
risk-assessment-of-the-train-to-Lyon
you can then use that file when you want any other model
`), "\n")

// Of harmless texts at most 2 of 100 are hidden, in a text, behind other words and in a list.
func TestCorpus_harmless(t *testing.T) {
	list := append(slices.Clone(harmlessPatterns), patterns(t, "harmless.txt")...)
	if len(list) < 700 {
		t.Fatalf("only %d texts", len(list))
	}
	for name, write := range map[string]func(string) string{
		"alone":      func(s string) string { return `{"messages":[{"content":` + quoted(s) + `}]}` },
		"a line":     func(s string) string { return quoted("$ show it\n" + s + "\nok\n") },
		"a list":     func(s string) string { return `{"items":["first",` + quoted(s) + `,"last"]}` },
		"JSON in it": func(s string) string { return quoted(`{"output":` + quoted(s) + `}`) },
		"a key":      func(s string) string { return `{"files":{` + quoted(s) + `:{"size":1}}}` },
	} {
		random := rand.New(rand.NewPCG(31, 13))
		var changed []string
		for _, pattern := range list {
			text := strings.ReplaceAll(drawn(random, pattern), `\n`, "\n")
			state := write(text)
			if out, _ := hidden(t, redact.Options{}, state); out[0] != state {
				changed = append(changed, pattern+" → "+out[0])
			}
		}
		t.Logf("%s: %d of %d changed", name, len(changed), len(list))
		if len(changed) > len(list)/50 || os.Getenv("HINDCAST_CORPUS") != "" {
			t.Errorf("%s: %d of %d harmless texts are changed:\n%s", name, len(changed), len(list), strings.Join(changed, "\n"))
		}
	}
}
