import { fileURLToPath } from 'node:url'

import { programPath } from '../programs.js'
import type { TrafficClient } from '../types.js'
import type { TcpServerName } from './servers.js'

const app = (name: string): string => fileURLToPath(new URL(`../../apps/${name}`, import.meta.url))

/** A client of one server of the TCP corpus. */
export interface TcpClient extends TrafficClient {
  readonly server: TcpServerName
  readonly protocol: string
  readonly exchanges: readonly string[]
}

const sql = ['query', 'prepared', 'many-rows', 'large', 'error', 'wrong-password', 'idle', 'tls']
const redis = ['ping', 'large', 'pipeline', 'transaction', 'subscription', 'blocking', 'error', 'wrong-password']
const documents = ['query', 'many-rows', 'large', 'error', 'idle']
// Not with a wrong password: the server resets the connection right behind its answer, see docs/reference/traffic-limits.md.
const nats = ['message', 'large', 'request', 'idle']
const mqtt = ['at-most-once', 'at-least-once', 'exactly-once', 'large', 'retained', 'keepalive']
const amqp = ['message', 'large', 'error', 'wrong-password', 'heartbeat']
const smtp = ['mail', 'large', 'starttls', 'refused']
const tls = ['handshake', 'old-version', 'request', 'client-certificate', 'large']

/** All clients. */
export function tcpClients(): readonly TcpClient[] {
  return [...nodeClients(), ...pythonClients(), ...commandLineClients(), ...otherClients()]
}

function nodeClients(): readonly TcpClient[] {
  const node = (
    flavour: string,
    server: TcpServerName,
    protocol: string,
    exchanges: readonly string[],
    title = `${flavour} (npm)`,
  ): TcpClient => ({
    name: `node-${flavour}`,
    title,
    argv: [programPath('node'), app('node-tcp-client.mjs'), flavour, programPath('keys')],
    server,
    protocol,
    exchanges,
  })
  return [
    node('pg', 'postgres', 'PostgreSQL', [...sql, 'transaction', 'notification']),
    node('mysql2', 'mariadb', 'MySQL', sql),
    node('ioredis', 'redis', 'Redis', redis),
    node('mongodb', 'mongodb', 'MongoDB', documents),
    node('nats', 'nats', 'NATS', nats),
    node('mqtt', 'mosquitto', 'MQTT', mqtt),
    node('kafkajs', 'kafka', 'Kafka', ['messages', 'large']),
    node('amqplib', 'rabbitmq', 'AMQP', amqp),
    node('nodemailer', 'smtp', 'SMTP', smtp),
    node('tls', 'tls', 'TLS', tls, 'Node tls'),
    node('net', 'net', 'TCP', ['greeting', 'half-close', 'server-half-close', 'reset', 'idle', 'large'], 'Node net'),
  ]
}

function pythonClients(): readonly TcpClient[] {
  const python = (
    flavour: string,
    server: TcpServerName,
    protocol: string,
    exchanges: readonly string[],
    title = `${flavour} (PyPI)`,
  ): TcpClient => ({
    name: `python-${flavour}`,
    title,
    argv: [programPath('python'), app('python/tcp_client.py'), flavour, programPath('keys')],
    server,
    protocol,
    exchanges,
  })
  return [
    python('asyncpg', 'postgres', 'PostgreSQL', [...sql, 'notification', 'cancel', 'copy']),
    python('pymysql', 'mariadb', 'MySQL', without(sql, 'prepared')),
    python('redis', 'redis', 'Redis', redis),
    python('pymongo', 'mongodb', 'MongoDB', documents),
    python('pymemcache', 'memcached', 'memcached', ['large', 'count', 'many', 'idle']),
    python('nats', 'nats', 'NATS', nats),
    python('paho', 'mosquitto', 'MQTT', mqtt),
    python('kafka', 'kafka', 'Kafka', ['messages', 'large'], 'kafka-python (PyPI)'),
    python('pika', 'rabbitmq', 'AMQP', amqp),
    python('smtplib', 'smtp', 'SMTP', smtp, 'Python smtplib'),
  ]
}

function commandLineClients(): readonly TcpClient[] {
  const commandLine = (
    kind: string,
    program: string,
    server: TcpServerName,
    protocol: string,
    exchanges: readonly string[],
  ): TcpClient => ({
    name: `cli-${kind}`,
    title: `${program} (Debian)`,
    argv: [programPath('node'), app('cli-tcp-client.mjs'), kind, programPath(program), programPath('keys')],
    server,
    protocol,
    exchanges,
  })
  return [
    commandLine('psql', 'psql', 'postgres', 'PostgreSQL', [...sql, 'copy']),
    commandLine('mariadb', 'mariadb', 'mariadb', 'MySQL', sql),
    commandLine('redis', 'redis-cli', 'redis', 'Redis', ['ping', 'large', 'pipeline', 'blocking', 'error']),
    commandLine('ssh', 'ssh', 'ssh', 'SSH', ['command', 'input', 'large', 'compressed', 'idle', 'no-key']),
    commandLine('curl', 'curl', 'tls', 'TLS', without(tls, 'request')),
    commandLine('openssl', 'openssl', 'tls', 'TLS', ['request', 'old-version']),
  ]
}

/** In Go and Java. */
function otherClients(): readonly TcpClient[] {
  const go = (library: string): readonly string[] => [programPath('goTcpClient'), library, programPath('keys')]
  const java = (driver: string): readonly string[] => [
    ...[programPath('java'), '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', programPath('classPath')],
    ...['JdbcClient', driver, programPath('keys')],
  ]
  return [
    {
      name: 'go-pgx',
      title: 'pgx (Go module)',
      argv: go('pgx'),
      server: 'postgres',
      protocol: 'PostgreSQL',
      exchanges: [...sql, 'pipeline', 'copy', 'notification'],
    },
    { name: 'go-smtp', title: 'Go net/smtp', argv: go('smtp'), server: 'smtp', protocol: 'SMTP', exchanges: smtp },
    { name: 'go-tls', title: 'Go crypto/tls', argv: go('tls'), server: 'tls', protocol: 'TLS', exchanges: tls },
    {
      name: 'jdbc-postgres',
      title: 'JDBC of PostgreSQL (Debian)',
      argv: java('postgresql'),
      server: 'postgres',
      protocol: 'PostgreSQL',
      exchanges: sql,
    },
    {
      name: 'jdbc-mariadb',
      title: 'JDBC of MariaDB (Debian)',
      argv: java('mariadb'),
      server: 'mariadb',
      protocol: 'MySQL',
      exchanges: sql,
    },
  ]
}

function without(all: readonly string[], name: string): readonly string[] {
  return all.filter((each) => each !== name)
}
