// Does the exchanges of the HTTP corpus through `proxy_pass` of an nginx: nginx-http-client.mjs <path> 1.0|1.1 <first port>
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const [, , path, version, firstPort] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'osm-traffic-nginx-'))
const nodeClient = fileURLToPath(new URL('node-http-client.mjs', import.meta.url))

const { targets } = await json(process.stdin)
const proxied = targets.map((target, i) => ({ ...target, listen: Number(firstPort) + i }))
const servers = proxied.map(({ host, port, listen }, i) => {
  // The default is 1.0, one connection a request.
  const settings = version === '1.0' ? '' : 'proxy_http_version 1.1; proxy_set_header Connection "";'
  return `upstream up${i} { server ${host}:${port}; ${version === '1.0' ? '' : 'keepalive 4;'} }
  server { listen 127.0.0.1:${listen}; location / { proxy_pass http://up${i}; ${settings} } }`
})
writeFileSync(
  join(folder, 'conf'),
  `daemon off; user root; worker_processes 1; pid ${folder}/pid; error_log stderr error;
events { worker_connections 256; }
http {
  access_log off; client_max_body_size 4m; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  large_client_header_buffers 16 32k; proxy_buffer_size 64k; proxy_buffers 8 64k; proxy_busy_buffers_size 128k;
  ${servers.join('\n  ')}
}
`,
)
const nginx = spawn(path, ['-p', folder, '-c', join(folder, 'conf')], { stdio: ['ignore', 'ignore', 'inherit'] })
try {
  for (const { listen } of proxied) await untilOpen(listen)
  const input = proxied.map((target) => ({ ...target, host: '127.0.0.1', address: '127.0.0.1', port: target.listen }))
  const client = spawn(process.execPath, ['--max-http-header-size=131072', nodeClient, 'http'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  client.stdin.end(JSON.stringify({ targets: input }))
  process.stdout.write(await text(client.stdout))
} finally {
  nginx.kill('SIGTERM')
  if (nginx.exitCode === null) await once(nginx, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

/** Waits until something listens, or until nginx has ended. */
async function untilOpen(port) {
  while (nginx.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await sleep(20)
  }
  throw new Error('nginx has ended')
}
