import { generateKeyPairSync } from 'node:crypto'

import { describe, expect, it } from '@jest/globals'

import { redactObject, redactText } from './redact.js'
import { ReportArchive } from './report-archive.js'
import { renderReportPage } from './report-page.js'

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()
const body = pem.split('\n')[1] ?? ''
const jwt = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"a"}').toString('base64url')}.c2ln`

describe('redactText', () => {
  it.each([
    ['a private key', pem, body],
    ['a private key in JSON', JSON.stringify({ key: pem }), body],
    [
      'a private key in base64',
      `tls.key: ${Buffer.from(pem).toString('base64')}`,
      Buffer.from(pem).toString('base64').slice(40, 80),
    ],
    ['a JSON Web Token', `sent ${jwt} to the server`, jwt],
    ['a bearer token', 'Authorization: Bearer abc.def', 'abc.def'],
    ['a header in JSON', '{"authorization":"Basic dXNlcjpwYXNz","x":1}', 'dXNlcjpwYXNz'],
    ['a cookie', 'cookie: session=s3cr3t', 's3cr3t'],
    ['a password in YAML', 'password: hunter2', 'hunter2'],
    ['a quoted password', `password: "hunter 2"`, 'hunter 2'],
    ['a token of Vault', `login with hvs.${'A'.repeat(24)}`, 'A'.repeat(24)],
    ['a password in a URL', 'postgres://user:hunter2@db:5432/x', 'hunter2'],
  ])('removes %s', (_what, text, secret) => {
    expect(text).toContain(secret)
    expect(redactText(text)).not.toContain(secret)
    expect(redactText(text)).toContain('[removed]')
  })

  it('keeps what is no secret', () => {
    const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'
    for (const text of [
      certificate,
      Buffer.from(certificate).toString('base64'),
      'secretName: osm-ca-bundle',
      'http://db:5432/x',
    ])
      expect(redactText(text)).toBe(text)
  })
})

describe('redactObject', () => {
  it('removes data of Secrets, values of variables and what tools keep, at any depth', () => {
    const object = {
      kind: 'List',
      items: [
        {
          kind: 'Secret',
          metadata: { name: 'a', managedFields: [1] },
          data: { 'tls.key': 'eA==' },
          stringData: { b: 'c' },
        },
        {
          kind: 'Pod',
          metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', kept: 'yes' } },
          spec: {
            containers: [
              {
                env: [
                  { name: 'KEY', value: 'x' },
                  { name: 'IP', valueFrom: { fieldRef: {} } },
                ],
              },
            ],
          },
        },
      ],
    }
    expect(redactObject(object)).toEqual({
      kind: 'List',
      items: [
        { kind: 'Secret', metadata: { name: 'a' }, data: { 'tls.key': '[removed]' }, stringData: { b: '[removed]' } },
        {
          kind: 'Pod',
          metadata: { annotations: { kept: 'yes' } },
          spec: {
            containers: [
              {
                env: [
                  { name: 'KEY', value: '[removed]' },
                  { name: 'IP', valueFrom: { fieldRef: {} } },
                ],
              },
            ],
          },
        },
      ],
    })
  })
})

describe('ReportArchive', () => {
  const archive = (): ReportArchive => new ReportArchive((value) => JSON.stringify(value))

  it('lists what cannot be had with its reason, and goes on', async () => {
    const report = archive()
    await report.add('a.txt', 'GET /a', () => Promise.reject(new Error(`no; password: hunter2`)))
    await report.add('b.txt', 'GET /b', () => Promise.resolve(undefined))
    await report.add('c.txt', 'GET /c', () => Promise.resolve({ kind: 'Secret', data: { a: 'b' } }))
    expect(report.entries).toEqual([
      { path: 'a.txt', source: 'GET /a', note: 'no; password: [removed]' },
      { path: 'b.txt', source: 'GET /b', note: 'does not exist' },
      { path: 'c.txt', source: 'GET /c', text: '{"kind":"Secret","data":{"a":"[removed]"}}' },
    ])
  })

  it('keeps the last lines of a long file', async () => {
    const report = archive()
    await report.add('log.txt', 'logs', () => Promise.resolve(`first\n${'x'.repeat(4 * 1024 * 1024 - 10)}\nlast\n`))
    expect(report.entries[0]?.text).toMatch(/\nlast\n$/)
    expect(report.entries[0]?.note).toBe('the first 6 characters were cut off')
  })
})

describe('renderReportPage', () => {
  it('shows findings and files, and no markup of users', () => {
    const page = renderReportPage(
      {
        createdAt: '2026-11-27T00:00:00Z',
        version: '1',
        mesh: '<b>',
        findings: [{ code: 'OSM_X', severity: 'error', message: '<script>' }],
      },
      [
        { path: 'a b.txt', source: 'GET /a', text: 'four' },
        { path: 'gone.txt', source: 'GET /b', note: 'does not exist' },
      ],
    )
    expect(page).toContain('<a href="a%20b.txt">a b.txt</a></td><td>4</td>')
    expect(page).toContain('<td>gone.txt</td><td>–</td>')
    expect(page).toContain('error: &lt;script&gt; [OSM_X]')
    expect(page).not.toMatch(/<script|<b>/)
  })
})
