import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createPipyDriver } from '@osm-ts/driver-pipy'
import { injectorContext } from '@osm-ts/driver-testkit'

import {
  type FileMaterial,
  type ReferenceValues,
  replaceCertificateFiles,
  resolveValue,
  writeSidecarFiles,
} from './sidecar-files.js'

describe('files of a sidecar', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-files-'))
  })
  afterEach(() => {
    rmSync(folder, { recursive: true })
  })

  it('hold all roots in one, and the last alone in another, also after a change', async () => {
    const patch = await createPipyDriver().patch(injectorContext())
    const target = { folder, uid: undefined }
    const material = (name: string, trustBundle: readonly string[]): FileMaterial => {
      const certificate = { chain: `chain ${name}`, privateKey: () => `key ${name}` } as FileMaterial['certificate']
      return { certificate, trustBundle, values: {} as FileMaterial['values'] }
    }
    const texts = () =>
      ['sidecar.crt', 'sidecar.key', 'roots.crt', 'last-root.crt'].map((file) =>
        readFileSync(join(folder, file), 'utf8'),
      )
    writeSidecarFiles(patch, target, material('one', ['a\n']))
    expect(texts()).toEqual(['chain one', 'key one', 'a\n', 'a\n'])
    replaceCertificateFiles(patch, target, material('two', ['a\n', 'b\n']))
    expect(texts()).toEqual(['chain two', 'key two', 'a\nb\n', 'b\n'])
  })
})

const values: ReferenceValues = {
  file: (path) => `/run/x/${path}`,
  workload: { address: '10.0.0.2', instance: 'web-0', namespace: 'shop', serviceAccount: 'web', uid: 'u', node: 'n' },
}

describe('resolveValue', () => {
  it('leaves plain text as it is', () => {
    expect(resolveValue('${PATH} $(x)', values)).toBe('${PATH} $(x)')
  })

  it('joins text and references without anything in between', () => {
    const value = ['--config=', { ref: 'file', path: 'a.yaml' }, '@', { ref: 'workload', field: 'address' }] as const
    expect(resolveValue(value, values)).toBe('--config=/run/x/a.yaml@10.0.0.2')
  })

  it.each(['address', 'instance', 'namespace', 'serviceAccount', 'uid', 'node'] as const)(
    'knows the %s of the workload',
    (field) => {
      expect(resolveValue([{ ref: 'workload', field }], values)).toBe(values.workload[field])
    },
  )
})
