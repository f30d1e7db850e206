import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'

import { FakeHost } from './fake-host.js'
import { injectorContext, meshConfig } from './injector-context.js'

function issues(name: string, value: unknown): unknown {
  const path = join(import.meta.dirname, `../../driver-api/schemas/${name}.json`)
  const fits = new Ajv2020({ strict: true, allErrors: true }).compile(JSON.parse(readFileSync(path, 'utf8')) as object)
  return fits(JSON.parse(JSON.stringify(value))) ? [] : fits.errors
}

describe('what the kit says as a host', () => {
  it('fits the published JSON Schemas', async () => {
    const host = new FakeHost('small')
    const context = host.context()
    const { signal: _signal, ...plain } = injectorContext()
    expect(issues('InjectorContext', plain)).toEqual([])
    expect(issues('MeshConfigView', meshConfig)).toEqual([])
    expect(issues('StartContext', { ...context, configurator: undefined })).toEqual([])
    for await (const trust of context.proxyServiceCert.watch(context.signal)) {
      expect(issues('ServerTrust', trust)).toEqual([])
      break
    }
    const { credential } = host.admit('c0ffee00-0000-4000-8000-000000000001')
    expect(issues('Credential', { ...credential })).toEqual([])
    host.stop()
  })

  it('does not fit if a member is missing', () => {
    const { signal: _signal, contract: _contract, ...plain } = injectorContext()
    expect(issues('InjectorContext', plain)).toMatchObject([{ params: { missingProperty: 'contract' } }])
  })
})
