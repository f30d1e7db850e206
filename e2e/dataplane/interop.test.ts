import { jest } from '@jest/globals'

import { describeInterop } from './support/interop/describe-interop.js'

jest.setTimeout(60_000)

describeInterop(['envoy', 'haproxy'])
