// Runs a server that is made of configuration: configured-server.mjs nginx|nginx-http2|apache2 <path> <port>
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const [, , kind, path, port] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'osm-traffic-server-'))
const www = join(folder, 'www')
mkdirSync(www)
const text = 'hello from the corpus\n'.repeat(20)
writeFileSync(join(www, 'text'), text)
writeFileSync(join(www, 'gzip'), text)
writeFileSync(join(www, 'bytes'), Buffer.from(Array.from({ length: 10_000 }, (_, i) => i % 251)))
const cookies = ['a=1; Path=/', 'b=2; HttpOnly', 'c=3; Expires=Wed, 21 Oct 2065 07:28:00 GMT']
const many = Array.from({ length: 40 }, (_, i) => [`X-Large-${i}`, 'v'.repeat(1_000)])

const nginxSeen = `{"seen":{"method":"$request_method","url":"$request_uri","version":"$server_protocol","headers":[["host","$http_host"],["x-test","$http_x_test"],["x-many-0","$http_x_many_0"],["x-many-7","$http_x_many_7"],["connection","$http_connection"],["content-length","$http_content_length"]]}}`
const nginx = `
daemon off; user root; worker_processes 1; pid ${folder}/pid; error_log stderr error;
events { worker_connections 256; }
http {
  access_log off; default_type text/plain; client_max_body_size 4m; client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  large_client_header_buffers 16 32k; gzip on; gzip_types text/plain; gzip_min_length 100;
  server {
    listen 0.0.0.0:${port}${kind === 'nginx-http2' ? ' http2' : ''};
    root ${www};
    location /echo { default_type application/json; return 200 '${nginxSeen}'; }
    ${[404, 500, 503].map((code) => `location = /status/${code} { return ${code} "status ${code}"; }`).join('\n    ')}
    location = /status/204 { return 204; }
    location = /status/304 { add_header ETag '"corpus"'; return 304; }
    location = /redirect { return 302 /text; }
    location = /cookies { ${cookies.map((each) => `add_header Set-Cookie "${each}";`).join(' ')} return 200 "$http_cookie"; }
    location = /large-headers { ${many.map(([name, value]) => `add_header ${name} ${value};`).join(' ')} return 200 large; }
    location = /close { keepalive_timeout 0; return 200 closed; }
    location = /text { gzip off; add_header X-Mixed-Case Value; }
  }
}
`

const script = `#!/usr/bin/perl
use Digest::SHA qw(sha256_hex);
use JSON::PP;
$| = 1;
my $uri = $ENV{REQUEST_URI};
if ($uri eq '/slow') { select undef, undef, undef, 0.3; print "Content-Type: text/plain\\nContent-Length: 4\\n\\nslow"; exit }
if ($uri eq '/events') {
  print "Content-Type: text/event-stream\\n\\n";
  for my $i (0 .. 4) { print "id: $i\\ndata: event $i\\n\\n"; select undef, undef, undef, 0.02 }
  exit;
}
local $/; my $body = <STDIN> // '';
my @headers = map { my $name = $_; $name =~ s/^HTTP_//; $name =~ tr/_/-/; [ lc $name, $ENV{$_} ] } grep { /^HTTP_/ } sort keys %ENV;
my %seen = (method => $ENV{REQUEST_METHOD}, url => $uri, version => $ENV{SERVER_PROTOCOL}, headers => \\@headers, bytes => length $body, sha256 => sha256_hex($body));
my $answer = '{"seen":' . encode_json(\\%seen) . '}';
print "Content-Type: application/json\\nContent-Length: ", length $answer, "\\n\\n", $answer;
`
const load = ['mpm_event', 'authz_core', 'alias', 'headers', 'deflate', 'filter', 'cgid', 'mime', 'env', 'setenvif']
const apache2 = `
${load.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
ServerName corpus
Listen 0.0.0.0:${port}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
LogLevel error
DefaultRuntimeDir ${folder}
ScriptSock ${folder}/cgi.sock
TypesConfig /dev/null
User www-data
Group www-data
StartServers 1
LimitRequestFields 1000
LimitRequestLine 16380
AllowEncodedSlashes NoDecode
DocumentRoot ${www}
<Directory ${www}>
  ForceType text/plain
</Directory>
<Location /text>
  Header set X-Mixed-Case Value
</Location>
<Location /gzip>
  SetOutputFilter DEFLATE
</Location>
# Otherwise it depends on time whether a short answer has a length or chunks.
SetEnv ap_trust_cgilike_cl 1
ScriptAliasMatch "^/(echo|slow|events)" ${folder}/echo.pl
${[204, 404, 500, 503].map((code) => `Redirect ${code} /status/${code}`).join('\n')}
Redirect 302 /redirect /text
<Location /cookies>
  ${cookies.map((each) => `Header always add Set-Cookie "${each}"`).join('\n  ')}
</Location>
<Location /large-headers>
  ${many.map(([name, value]) => `Header set ${name} ${value}`).join('\n  ')}
</Location>
<Location /close>
  SetEnv nokeepalive 1
</Location>
`
for (const name of ['cookies', 'large-headers', 'close']) writeFileSync(join(www, name), name)
writeFileSync(join(folder, 'echo.pl'), script, { mode: 0o755 })
writeFileSync(join(folder, 'conf'), kind === 'apache2' ? apache2 : nginx)
const { spawnSync } = await import('node:child_process')
spawnSync('chmod', ['755', folder])
const args =
  kind === 'apache2' ? ['-D', 'FOREGROUND', '-f', join(folder, 'conf')] : ['-p', folder, '-c', join(folder, 'conf')]
const child = spawn(path, args, { stdio: 'inherit' })
child.once('exit', (code) => {
  rmSync(folder, { recursive: true, force: true })
  process.exit(code ?? 1)
})
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill('SIGTERM'))
