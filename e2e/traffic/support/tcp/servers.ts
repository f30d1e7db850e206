import { programPath, script } from '../programs.js'
import type { TrafficServer } from '../types.js'

/** Servers of protocols that are not HTTP, by their names. */
export type TcpServerName = ReturnType<typeof tcpServers>[number]['name']

/** All servers, each on its own port. */
export function tcpServers() {
  return [
    prepared('postgres', 'PostgreSQL (Debian)', 8301, 'tcp'),
    prepared('mariadb', 'MariaDB (Debian)', 8302, 'mysql', 'mariadb', 'mariadbd'),
    prepared('redis', 'Redis (Debian)', 8303, 'redis', 'redis', 'redis-server'),
    prepared('memcached', 'memcached (Debian)', 8304, 'tcp'),
    prepared('nats', 'NATS (Debian)', 8305, 'nats', 'nats', 'nats-server'),
    prepared('mosquitto', 'Mosquitto (Debian)', 8306, 'mqtt'),
    prepared('kafka', 'Tansu, a broker for Kafka (PyPI)', 8307, 'kafka'),
    prepared('rabbitmq', 'RabbitMQ (Debian)', 8308, 'amqp'),
    prepared('ssh', 'OpenSSH (Debian)', 8309, 'ssh', 'sshd'),
    prepared('mongodb', 'FerretDB (Go module)', 8313, 'mongo', 'mongodb', 'mongodbServer'),
    prepared('tls', 'nginx with TLS (Debian)', 8310, 'https', 'nginx'),
    server('net', 'Node net, speaking first', 8311, 'tcp-server-first', script('node', 'node-tcp-server.mjs')('8311')),
    server('smtp', 'aiosmtpd (PyPI)', 8312, 'smtp', [
      ...script('python', 'python/smtp_server.py')('8312', programPath('keys')),
    ]),
  ] as const
}

function server<const N extends string>(
  name: N,
  title: string,
  port: number,
  appProtocol: string,
  argv: readonly string[],
): TrafficServer & { readonly name: N } {
  return { name, title, port, appProtocol, argv }
}

/** A server with files that are made when it starts, see run-tcp-server.mjs. */
function prepared<const N extends string>(
  name: N,
  title: string,
  port: number,
  appProtocol: string,
  kind: string = name,
  program = kind,
): TrafficServer & { readonly name: N } {
  const run = script('node', 'run-tcp-server.mjs')
  const argv = run(kind, programPath(program), String(port), programPath('keys'))
  return server(name, title, port, appProtocol, argv)
}
