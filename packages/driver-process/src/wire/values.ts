import type { ControllerContext, Credential, Message as BrokerMessage, RotatingCredential } from '@osm-ts/driver-api'
import {
  canonicalJson,
  type CredentialRef,
  type JsonValue,
  type PolicyUpdate,
  type ProxyPart,
} from '@osm-ts/driver-api/policy'

import type { Message } from './services.js'
import type { LogEntry } from './telemetry.js'

// Values of the contract that are not quite their messages: those that hold JSON, and those whose presence proto3 cannot say.

/** The part of a context that is plain data. */
export type StartData = Pick<
  ControllerContext,
  'contract' | 'proxyServerAddress' | 'proxyServerPort' | 'osmNamespace' | 'driverConfig'
>

/** What a host sends of the credential of a control plane. */
export type ServerTrust = ReturnType<RotatingCredential['watch']> extends AsyncIterable<infer T> ? T : never

export function startContextMessage(data: StartData): Message<'startContext'> {
  return { ...data, driverConfig: JSON.stringify(data.driverConfig) }
}

/** @throws SyntaxError if the configuration is not JSON */
export function readStartContext(message: Message<'startContext'>): StartData {
  return { ...message, driverConfig: JSON.parse(message.driverConfig) as JsonValue }
}

/** The root has the bytes that its hash is made of. */
export function policyUpdateMessage(update: PolicyUpdate): Message<'policyUpdate'> {
  return { ...update, proxy: canonicalJson(update.proxy) }
}

export function readPolicyUpdate(message: Message<'policyUpdate'>): PolicyUpdate {
  // What a host sends is what the contract says.
  return { ...message, proxy: JSON.parse(message.proxy) as ProxyPart } as PolicyUpdate
}

export function credentialMessage({ roots, ...credential }: Credential): Message<'credential'> {
  return { ...credential, ...(roots !== undefined && { roots: { certificates: roots } }) }
}

export function readCredential({ roots, ...credential }: Message<'credential'>): Credential {
  return { ...credential, ...(roots !== undefined && { roots: roots.certificates }) }
}

export function serverTrustMessage({ credential, clientRoots }: ServerTrust): Message<'serverTrust'> {
  return { credential: credentialMessage(credential), clientRoots }
}

export function readServerTrust({ credential, clientRoots }: Message<'serverTrust'>): ServerTrust {
  return { credential: readCredential(credential), clientRoots }
}

export function brokerMessage({ topic, payload }: BrokerMessage): Message<'brokerMessage'> {
  return { topic, payload: JSON.stringify(payload) }
}

export function readBrokerMessage({ topic, payload }: Message<'brokerMessage'>): BrokerMessage {
  return { topic, payload: JSON.parse(payload) as JsonValue }
}

/** Not checked: the host compares it with what stands in the policy, and makes nothing else of it. */
export function readCredentialRef(message: Message<'credentialRef'> | undefined): CredentialRef {
  return { ...message } as CredentialRef
}

/** Not checked yet. A message tells the two forms apart by `refused`. */
export function readObservation({ session, conditions, refused }: Message<'proxyObservation'>): unknown {
  return refused === undefined ? { session, conditions } : { refused }
}

export function logEntryMessage({ level, fields, message }: LogEntry): Message<'logEntry'> {
  return { level, fields: JSON.stringify(fields), message }
}
