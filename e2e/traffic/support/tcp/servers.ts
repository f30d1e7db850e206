import { fileURLToPath } from 'node:url'

import { programPath } from '../programs.js'
import type { TrafficServer } from '../types.js'

const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))

/** Servers of protocols that are not HTTP, by their names. */
export type TcpServerName = ReturnType<typeof tcpServers>[number]['name']

/** All servers, each on its own port. */
export function tcpServers() {
  const prepared = (kind: string, program: string, port: number): readonly string[] => [
    programPath('node'),
    app('run-tcp-server.mjs'),
    kind,
    programPath(program),
    String(port),
    programPath('keys'),
  ]
  return [
    {
      name: 'postgres',
      title: 'PostgreSQL (Debian)',
      port: 8301,
      appProtocol: 'tcp',
      argv: prepared('postgres', 'postgres', 8301),
    },
    {
      name: 'mariadb',
      title: 'MariaDB (Debian)',
      port: 8302,
      appProtocol: 'mysql',
      argv: prepared('mariadb', 'mariadbd', 8302),
    },
    {
      name: 'redis',
      title: 'Redis (Debian)',
      port: 8303,
      appProtocol: 'redis',
      argv: prepared('redis', 'redis-server', 8303),
    },
    {
      name: 'memcached',
      title: 'memcached (Debian)',
      port: 8304,
      appProtocol: 'tcp',
      argv: prepared('memcached', 'memcached', 8304),
    },
    {
      name: 'nats',
      title: 'NATS (Debian)',
      port: 8305,
      appProtocol: 'nats',
      argv: prepared('nats', 'nats-server', 8305),
    },
    {
      name: 'mosquitto',
      title: 'Mosquitto (Debian)',
      port: 8306,
      appProtocol: 'mqtt',
      argv: prepared('mosquitto', 'mosquitto', 8306),
    },
    {
      name: 'kafka',
      title: 'Tansu, a broker for Kafka (PyPI)',
      port: 8307,
      appProtocol: 'kafka',
      argv: prepared('kafka', 'kafka', 8307),
    },
    {
      name: 'rabbitmq',
      title: 'RabbitMQ (Debian)',
      port: 8308,
      appProtocol: 'amqp',
      argv: prepared('rabbitmq', 'rabbitmq', 8308),
    },
    {
      name: 'ssh',
      title: 'OpenSSH (Debian)',
      port: 8309,
      appProtocol: 'ssh',
      argv: prepared('sshd', 'sshd', 8309),
    },
    {
      name: 'mongodb',
      title: 'FerretDB (Go module)',
      port: 8313,
      appProtocol: 'mongo',
      argv: prepared('mongodb', 'mongodbServer', 8313),
    },
    {
      name: 'tls',
      title: 'nginx with TLS (Debian)',
      port: 8310,
      appProtocol: 'https',
      argv: prepared('nginx', 'nginx', 8310),
    },
    {
      name: 'net',
      title: 'Node net, speaking first',
      port: 8311,
      appProtocol: 'tcp-server-first',
      argv: [programPath('node'), app('node-tcp-server.mjs'), '8311'],
    },
    {
      name: 'smtp',
      title: 'aiosmtpd (PyPI)',
      port: 8312,
      appProtocol: 'smtp',
      argv: [programPath('python'), app('python/smtp_server.py'), '8312', programPath('keys')],
    },
  ] as const satisfies readonly TrafficServer[]
}
