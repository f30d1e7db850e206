import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { expect, it } from '@jest/globals'

import { configSchema, envoyConfig } from './driver-config.js'

const page = fileURLToPath(new URL('../../../../docs/guides/controller.md', import.meta.url))

it('has every setting and default on the page that tells of them', async () => {
  const rows = [...(await readFile(page, 'utf8')).matchAll(/^\| `(\w+)`\s*\| ([^|]+?)\s*\|/gm)].map(
    ([, name, value]) => [name, value],
  )
  const settings = Object.entries(configSchema.properties).map(([name, property]) => [
    name,
    'default' in property ? String(property.default) : expect.any(String),
  ])
  expect(rows).toEqual(settings)
})

it('takes the defaults of its schema for what is absent', () => {
  const defaults = Object.entries(configSchema.properties).flatMap(([name, property]) =>
    'default' in property ? [[name, property.default]] : [],
  )
  for (const nothing of [null, {}]) expect(envoyConfig(nothing)).toEqual(Object.fromEntries(defaults))
  expect(envoyConfig({ connectionAgeSeconds: 60 })).toMatchObject({ connectionAgeSeconds: 60, keepaliveSeconds: 30 })
})
