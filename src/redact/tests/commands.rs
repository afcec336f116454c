//! Secrets on command lines, and those that are printed into a command.

use super::missed;

#[test]
fn a_secret_that_a_command_is_given_goes() {
    let cases = [
        ("mysql -u root -p@@ app", "{a12}"),
        ("sshpass -p @@ ssh host", "{a12}"),
        ("redis-cli -h cache -a @@ ping", "{a12}"),
        ("echo \"@@\" | docker login -u me --password-stdin ghcr.io", "{a20}"),
        ("printf '%s' '@@' | helm registry login -u me --password-stdin", "{a20}"),
        ("docker login -u me --password-stdin <<< '@@'", "{a20}"),
        ("echo @@ | gh auth login --with-token", "{a20}"),
        ("echo @@ | sudo -S apt update", "{a12}"),
        ("echo @@ | passwd --stdin root", "{a12}"),
        ("vercel env add API_SECRET production <<< \"@@\"", "{a20}"),
        ("echo -n @@ | vercel env add API_SECRET production", "{a20}"),
        ("echo \"root:@@\" | chpasswd", "{a12}"),
        ("chpasswd <<< root:@@", "{a12}"),
        ("kubectl create secret generic s --from-literal=foo=@@", "{a20}"),
        ("kubectl create secret generic s --from-literal=a=bbbb --from-literal 'foo=@@'", "{a20}"),
        ("smbclient //h/s -U user%@@ -c ls", "{a20}"),
        ("http -a user:@@ example.net/x", "{a20}"),
        ("sqlplus -S scott/@@@db", "{a20}"),
        ("curl -u @@: https://api.example.net", "{a20}"),
    ];
    assert_eq!(missed(&cases), Vec::<String>::new());
}

#[test]
fn what_only_looks_like_it_stays() {
    for text in [
        "echo done; docker login -u me --password-stdin < file",
        "echo $TOKEN | docker login -u me --password-stdin",
        "echo \"the flag --password-stdin reads it\"",
        "kubectl create configmap s --from-literal=level=verbose",
        "kubectl create secret generic s --from-literal=foo=$FOO",
        "smbclient //h/s -U user",
        "http GET example.net/a:b",
        "sqlplus /nolog",
        "sqlplus -S @scripts/setup.sql",
        "sqlplus scripts/setup.sql",
        "curl -u someone: https://example.net",
        "man chpasswd | head",
    ] {
        assert_eq!(super::redacted(text), text);
    }
}
