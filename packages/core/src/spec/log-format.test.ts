import { describe, expect, it } from '@jest/globals'

import { readLogFormat } from './log-format.js'

describe('readLogFormat', () => {
  it.each([
    ['text', '%START_TIME% "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%" %RESPONSE_CODE%'],
    ['text', '100%% of %REQ(user-agent):20%'],
    ['text', '{ no object %DURATION%'],
    ['text', 'nothing that varies'],
    ['json', '{ "path": "%REQ(:PATH)%", "more": { "flags": "%RESPONSE_FLAGS%" } }'],
    ['json', '{}'],
  ])('takes a format as %s: %s', (kind, format) => {
    expect(readLogFormat(format)).toEqual({ kind, template: format })
  })

  it.each([
    ['100% of it', 'has a % without another'],
    ['%DURATON%', '%DURATON% is not a supported command'],
    ['%REQ%', '%REQ% is not a supported command'],
    ['%DURATION(x)%', '%DURATION(x)% is not a supported command'],
    ['%REQ(a b)%', 'is not a supported command'],
    ['%ENVIRONMENT(TOKEN)%', 'is not a supported command'],
    ['{ "n": 1 }', 'strings'],
    ['{ "n": ["%DURATION%"] }', 'strings'],
    ['{ "n": { "x": "%" } }', 'has a % without another'],
  ])('finds what is wrong with %s', (format, message) => {
    expect(readLogFormat(format)).toEqual({ kind: 'fault', message: expect.stringContaining(message) })
  })
})
