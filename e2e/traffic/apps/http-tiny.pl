# Does the exchanges of the HTTP corpus with HTTP::Tiny, the client of Perl's core.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use HTTP::Tiny;
use JSON::PP qw(decode_json encode_json);

my $input = decode_json(join '', <STDIN>);
my %all;
for my $target (@{ $input->{targets} }) {
    my $client = HTTP::Tiny->new(max_redirect => 0, timeout => 30, keep_alive => 1);
    for my $exchange (@{ $target->{exchanges} }) {
        my $times = $exchange->{times} // 1;
        my @seen = map { ask($client, $target, $exchange) } 1 .. $times;
        $all{ $target->{server} }{ $exchange->{name} } = $times == 1 ? $seen[0] : \@seen;
    }
}
print encode_json(\%all), "\n";

sub ask {
    my ($client, $target, $exchange) = @_;
    my $host = $exchange->{byAddress} ? $target->{address} : $target->{host};
    my %headers = map { $_->[0] => $_->[1] } @{ $exchange->{headers} // [] };
    my %options = (headers => \%headers);
    if (my $body = $exchange->{body}) {
        my @rest = ('b' x $body->{bytes});
        $options{content} = $body->{framing} eq 'chunked' ? sub { shift @rest } : $rest[0];
    }
    my $answer = $client->request($exchange->{method}, "http://$host:$target->{port}$exchange->{path}", \%options);
    # Its own status for what is no answer.
    return { error => 'no answer' } if $answer->{status} == 599;
    my @headers = map {
        my $name = $_;
        my $value = $answer->{headers}{$name};
        map { [ $name, $_ ] } ref $value ? @$value : ($value)
    } sort keys %{ $answer->{headers} };
    my $content = $answer->{content} // '';
    my %seen = (
        status   => $answer->{status} + 0,
        reason   => $answer->{reason},
        version  => $answer->{protocol},
        headers  => \@headers,
        bytes    => length $content,
        sha256   => sha256_hex($content),
    );
    $seen{text} = $content if $content =~ /^\{"seen":/;
    return \%seen;
}
