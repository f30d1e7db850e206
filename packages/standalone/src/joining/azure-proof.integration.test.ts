import { createPublicKey } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  azureNonce,
  defaultCertificateSettings,
  type JoinRequest,
  keyHash,
  MACHINE_SERVER_NAME,
  MemoryCaStore,
  MeshCertificateManager,
  systemClock,
  TresorProvider,
  verifyAttestedDocument,
} from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'

import { AzureMetadataStandIn } from '../../test/azure-metadata-stand-in.js'
import { meshDomains } from '../mesh-constants.js'
import { ControlPlaneClient } from './control-plane-client.js'
import { newKey } from './machine-state.js'
import { joinWithProof } from './machine-proof.js'

const machine = { vmId: 'bd8e7443-24a0-41f3-b949-8baf4fd1c573', subscriptionId: '5f130ffc-0a3e-4795-b691-4f56a12a5547' }
const azure = { namespace: 'shop', serviceAccount: 'store' }

describe('a virtual machine of Azure that joins', () => {
  let provider: TresorProvider
  let server: Server
  let end: AbortController
  let metadata: AzureMetadataStandIn
  let metadataUrl: URL
  let key: { readonly key: string; readonly csr: string }
  let shown: JoinRequest[]
  let codes: string[]

  beforeEach(async () => {
    end = new AbortController()
    metadata = new AzureMetadataStandIn(machine)
    metadataUrl = await metadata.listen()
    key = await newKey()
    shown = []
    codes = []
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const manager = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains: meshDomains(),
      clock: systemClock,
      random: Math.random,
      signal: end.signal,
    })
    const subject = { kind: 'control-plane', name: MACHINE_SERVER_NAME, dnsNames: [], ipAddresses: [] } as const
    const { chain, privateKey } = (await manager.issueCertificate(subject)).credential()
    // A control plane that verifies as the real one does, and admits no one.
    server = createServer({ cert: chain, key: privateKey }, (incoming, response) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      incoming.once('end', () => {
        if (incoming.method === 'GET') {
          response.end(JSON.stringify({ trustBundle: provider.trustBundle('control-plane'), now: Date.now() }))
          return
        }
        const code = verdict(JSON.parse(text) as JoinRequest, incoming.socket as TLSSocket)
        codes.push(code)
        response.writeHead(403).end(JSON.stringify({ code, error: 'refused' }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(async () => {
    end.abort()
    server.close()
    provider.close()
    await metadata.close()
  })

  function verdict(request: JoinRequest, connection: TLSSocket): string {
    shown.push(request)
    const { proof } = request
    if (proof.kind !== 'azure') return 'OSM_MACHINE_REQUEST'
    const hash = keyHash(createPublicKey(key.key).export({ type: 'spki', format: 'der' }))
    try {
      verifyAttestedDocument(proof, {
        roots: [metadata.authority.root.x509],
        nonce: azureNonce(connection, hash),
        now: Date.now(),
      })
      return 'OSM_MACHINE_AZURE_VM'
    } catch (error) {
      return isOsmError(error) ? error.code : String(error)
    }
  }

  function join(more: { readonly metadata?: URL; readonly issuers?: readonly string[] } = {}): Promise<unknown> {
    const client = new ControlPlaneClient(new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`))
    const roots = provider.trustBundle('control-plane')
    const proof = { azure, metadata: metadataUrl, roots, ...more }
    const request = { csr: key.csr, name: 'vm-1', ports: [], listeners: { first: 15_100, last: 15_999 } }
    return joinWithProof(client, { proof, request, key: key.key }, end.signal)
  }

  it('shows a document for this connection and this key, with the issuers of its signer', async () => {
    await expect(join()).rejects.toMatchObject({ code: 'OSM_MACHINE_AZURE_VM' })
    expect(codes).toEqual(['OSM_MACHINE_AZURE_VM'])
    expect(shown[0]).toMatchObject({ proof: { ...azure, issuers: [metadata.authority.issuer.x509.toString()] } })
  })

  it('asks again where the metadata service repeats a document, and three times at most', async () => {
    metadata.repeats = 1
    await join().catch(() => undefined)
    expect(codes).toEqual(['OSM_MACHINE_AZURE_REPLAYED', 'OSM_MACHINE_AZURE_VM'])
    codes = []
    metadata.repeats = 9
    await expect(join()).rejects.toMatchObject({ code: 'OSM_MACHINE_AZURE_REPLAYED' })
    expect(codes).toHaveLength(3)
  })

  it('shows nothing to a control plane of another root', async () => {
    const client = new ControlPlaneClient(new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`))
    const proof = { azure, metadata: metadataUrl, roots: [metadata.authority.root.pem] }
    const request = { csr: key.csr, name: 'vm-1', ports: [], listeners: { first: 15_100, last: 15_999 } }
    await expect(joinWithProof(client, { proof, request, key: key.key }, end.signal)).rejects.toMatchObject({
      code: 'OSM_JOIN_TRUST',
    })
    expect(shown).toEqual([])
  })

  it('takes issuers that are given in place of those that it would fetch', async () => {
    await join({ issuers: [] }).catch(() => undefined)
    expect(codes).toEqual(['OSM_MACHINE_AZURE'])
  })

  it('says that no metadata service is there', async () => {
    await expect(
      join({ metadata: new URL(metadataUrl.origin.replace('127.0.0.1', '127.0.0.2')) }),
    ).rejects.toMatchObject({
      code: 'OSM_JOIN_AZURE',
      message: expect.stringContaining('did not answer'),
    })
    expect(shown).toEqual([])
  })
})
