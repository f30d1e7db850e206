import { admissionLimits, type ServerConnectionLimits } from '@osm-ts/driver-api/toolkit'

/**
 * Timeouts of requests, in milliseconds, for servers whose requests are small. Node.js looks for requests that are late at an interval, which is half a
 * minute unless it is given.
 */
export const requestTimeouts = { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 } as const

const none = { max: 0, maxPerKey: 0 }

/** Connections of a webhook. An API server opens one for each review that is under way, and shows a certificate if it is configured to. */
export const webhookLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: { max: 512, maxPerKey: 256 },
  authenticated: { max: 1_024, maxPerKey: 512 },
}

/** Connections of the server by which a leader hears the other replicas. A client without a certificate of the control plane fails to shake hands. */
export const replicaLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: none,
  authenticated: { max: 256, maxPerKey: 256 },
}

/** Connections of the server that machines join by. Machines keep no connection open, so that these are requests under way. */
export const machineLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: { max: 128, maxPerKey: 16 },
  authenticated: { max: 1_024, maxPerKey: 8 },
}

/** Connections of the server that osm-dashboard reads pages from: those of its pods. A client is known by its token, and not by a certificate. */
export const pagesLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: { max: 64, maxPerKey: 32 },
  authenticated: none,
}

/** Connections of osm-dashboard: those of browsers, or of the proxies in front of it. */
export const dashboardLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: { max: 256, maxPerKey: 128 },
  authenticated: none,
}

/** Connections of a health server: those of the kubelet and of whatever reads metrics. */
export const healthLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: { max: 512, maxPerKey: 64 },
  authenticated: none,
}

/** Connections of a debug server, nearly all of them from loopback. */
export const debugLimits: ServerConnectionLimits = {
  ...admissionLimits,
  anonymous: { max: 128, maxPerKey: 32 },
  authenticated: none,
}
