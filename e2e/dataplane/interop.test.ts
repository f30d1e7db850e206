import { describeInterop } from './support/interop/describe-interop.js'

describeInterop(['envoy', 'haproxy'])
