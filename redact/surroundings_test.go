package redact_test

import (
	"strings"
	"testing"

	"hindcast/redact"
)

// A secret is told by what stands around it: a command, a call, a sentence. « and » are around it here.
func TestText_hidesByItsSurroundings(t *testing.T) {
	for _, text := range []string{
		`https://storage.example.com/a.jpg?X-Goog-Date=20260101T000000Z&X-Goog-Signature=«c9d934e4eb8bfa2ea234685f433f4dbbe3eee278510a1ba888956ef165c4f951»`,
		`app-specific password for notarytool: «tpkv-xcll-kdqf-hpyb»`,
		`xcrun altool --upload-app -f build/App.ipa -u dev@acme.dev -p «tpkv-xcll-kdqf-hpyb»`,
		`auth: { user: 'shop@mail.example', pass: '«bqzt wmka lxcv nuhr»' }`,
		`gmail app password: «bqzt wmka lxcv nuhr»`,
		`cy.get('#password').type('«Quokka!2291moss»{enter}')`,
		`await page.getByLabel('Password').fill('«Sunny-Harbor-81!»');`,
		`driver.find_element(By.ID, "password").send_keys("«fjord-Basil-77x»")`,
		`fill input[type="password"] value="«Sunny-Harbor-81!»" started`,
		`log in as lea@acme.dev with password «Sunny-Harbor-81!» and take a screenshot`,
		`lftp -u web123,'«Blue+Ferry6102»' ftp.example.com -e 'mirror -R dist /'`,
		`admin login is admin@acme.dev / pw: «Lantern&Fig2207»`,
		`管理画面のパスワードは「«Sakura-3391-kz»」です`,
		`PDO->__construct('mysql:host=db', 'forge', '«Olive.Train.4471»')`,
		`http://localhost/callback?state=k2j3&code=«4/0AYRGp7JO876kiqkNY7-WczNo6CYiG6HC939bmn7OVj»&scope=email`,
		`the pipeline needs NOMAD_TOKEN, put «e23cf2d0-fddc-48f3-bc49-8cede989c910» in there`,
		`For the migration use Snowflake password '«Gl4cier_Dio5qc6DnQ!»' and afterwards delete it`,
		`const VAULT_SECRET_ID: &str = "«00a88906-4a48-4e2b-9937-6476f429d345»";`,
		`const adminPassword untyped string = "«vQ7_tulip.9Rk»"`,
		`rabbitmqctl add_user worker '«Nebel+Horn42»'`,
		`ansible-playbook site.yml -e ansible_become_pass=«Biber.Damm.33»`,
		`echo «Lurch_Segel_03» | docker login registry.example.com -u ci --password-stdin`,
		`echo -n '«mQ2-Ziegel-Luft-77»' | base64`,
		`username admin privilege 15 password 0 «Pfeiler9Otter»`,
		`jdbc:oracle:thin:erp/«Or4_Flamingo9»@ora01:1521/ORCL`,
		`twine upload -u ci -p «Kolibri-7-Zange» dist/*`,
		`createUser mon SHA "«Gr4nat-ro-zone»" AES`,
		`: PSK "«Nordwind-Keks8»"`,
		`#define WIFI_PASSWORD "«Zwetschge_2.4»"`,
		`net use Z: \\nas01\data /user:ACME\svc «Luchs!Nacht40»`,
		`the passphrase for dump.gpg is «Stör-Wehr-Eis2»`,
		`curl -b «JSESSIONID=CE37FDE3DC1317A847ED68D90C483CA3» https://portal.example.com/`,
		`#define WIFI_PASS "«espNet_40xKq»"`,
		`a1 LOGIN jo@acme.dev «imp_Ae55vvLo9»`,
		`The VPN pre-shared key is «1psecShr_77Qwm2»; peer is 203.0.113.9.`,
		`crypto isakmp key «1psecShr_77Qwm2» address 203.0.113.9`,
		`My mail app password is «qmzt hwka pbrn eyvd», use it for the script`,
		`MFA seed: «OD4DPY5AZLOC4YJQ»`,
		`export COSMOS_PRIMARY_KEY=«7t4fN4m4nDqYuxZ1XdwAucPmGzIk5LfP/maLVRWdVpbdbmb05rDjF9ggQOqfZ8GdACDbqQWCiIdFnjbXw063l5==» && ./deploy.sh`,
	} {
		secret := markedPart(text, text)
		out, _ := hidden(t, redact.Options{}, quoted(strings.NewReplacer("«", "", "»", "").Replace(text)))
		if strings.Contains(flat(out[0]), secret) {
			t.Errorf("%s: %s", text, out[0])
		}
	}
}

// What names a secret without being one stays, and so does what looks drawn by chance and is for everyone.
func TestText_keepsByItsSurroundings(t *testing.T) {
	for _, text := range []string{
		"SPEC CHECKSUMS:\n  FirebaseAuth: 28d6a5c0b924bb77c6aa0c8f00f534e603ca8c1e\n  KeychainAccess: 9d5541e08a6c6e46d38f9eaabca045af5ba1d170\n",
		"POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?required}",
		"DKIM-Signature: v=1; a=rsa-sha256; d=acme.dev; bh=zUwtDDz0ASt/jtGQaGqdw4vjIai+YuHEWbDe/lJUFSQ=;",
		"type AuthPayload { token: String! user: User! }",
		"mutation Login($email: String!, $password: String!) { login }",
		`"passwort": "Passwort vergessen?"`,
		"ipfs://Qm2ENXQYNHRbjAN7P2u0WZ9wHa9MuRqmCtMN3fATwylPVp/metadata.json",
		"Message-ID: <CA+DeQTzcaFF_lwr8oEc0EwAYu7ehqJWJoGPmzL7K6P@mail.example.com>",
		"untrusted comment: minisign public key\nRWHqbDWIetVbIPcqnaAVrscijNs9MIVhZOsWACowITX6jQHtTvYkjkIX",
		`<li key="iD_CKQX32-OAvRDfOjqeu" class="item">`,
		"spotify:track:Nv9U2Z3T0wDN40Ih80lMzZ",
		"NEXT_PUBLIC_STRIPE_PUBLISHABLE_KEY=pk_" + "live_51ywSf308HSEjRSLo4rv6jqHFT6diuXlPR2F9iU1HFmvpbTEZHayiwfQypx2Ge9Y7r18HJY5HJ",
		`{"Ġtoken": 11241, "Ġpassword": 9206}`,
		"TWILIO_ACCOUNT_SID=AC" + "a056474f34c79ca59411a43927cd1727",
		"password: vault:secret/data/shop#db_password",
		"FIPS-197 test vector: ciphertext 69c4e0d86a7b0430d8cdb78070b4c55a",
		"C:Q15CHqb/Bs4PACh0PntetsVidLMnu=",
		"2026/06/11/[$LATEST]479a61e91d34193f62feea1c2d603d1d",
		"acme.lan. 3600 IN DNSKEY 257 3 13 Q/f41TW5OXVTwyBJMvqW0iwFPS7oU1g+eK7zNI1e3dZK3KxNs0/CWMtKb/IbcsnB2sDIgGHym8XgaFh9yCjQLw==",
		"password: {{ .Values.auth.password | b64enc | quote }}",
		"-- Boot 5f73baede81cf802e03ba4fe696f1f45 --",
		`{"kty":"EC","crv":"P-256","x":"xv0viqdahqv9EbWhM_DP5r79-ye2EO0SEeooxkwZrOD","y":"M9uH9B6D5DiB3ntSm6AlyanYVjKZu-uTjOoy4VvCvev"}`,
		"peer: 8Jghe1f1nkO7HI/9gOjudv5Ad4Ldd/LcoKNV9Xzs2f0=\n  latest handshake: 12 seconds ago",
		`function a(b,c){return b.password===c.password&&b.key!==null}`,
		`password:\s*(\S+)`,
		`google-site-verification=AoziHCFw3lYIG0ln7_xp_WFn4CBVJGbZ-_1t3TgzZJt`,
		"<key>UUID</key><string>46F04CDD-7703-4F59-B92A-774BC6B86B5B</string>",
		"Twilio message SM" + "6612a4526d655780fb47e13a8e41673f delivered",
		"rds: db-X92NBJ49AR1QN8Y7DPULPVXL7R",
		"SPLUNK_HEC_TOKEN=00000000-0000-0000-0000-000000000000",
	} {
		state := `{"messages":[{"role":"user","content":` + quoted(text) + `}]}`
		if out, _ := hidden(t, redact.Options{}, state); out[0] != state {
			t.Errorf("%s: %s", text, out[0])
		}
	}
}
