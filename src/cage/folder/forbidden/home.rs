//! Which places of a home is no server given?
//!
//! By what is kept in them. Two classes: what opens other doors is given to nobody, since it is used elsewhere once it
//! was read; what runs here by itself later is not given to a server that writes. A program that is not in here may keep
//! a credential as well: a folder of its own is better for a server than one of a home's.
//!
//! Sources: the programs' own documentation; the XDG Base Directory Specification; file-hierarchy(7), "Home directory".

use super::{ENGINE, Reach};
use crate::plan::Access;

/// Places that no server is given for one reason.
pub struct Row {
    /// Where they are, below a home.
    pub places: &'static [&'static str],
    /// How far that reaches.
    pub reach: Reach,
    /// Whether they are refused to readers, too, or to writers alone.
    pub to: Access,
    /// Why.
    pub why: &'static str,
}

const fn whole(places: &'static [&'static str], why: &'static str) -> Row {
    Row { places, reach: Reach::Whole, to: Access::Read, why }
}

const fn itself(places: &'static [&'static str], why: &'static str) -> Row {
    Row { places, reach: Reach::Itself, to: Access::Read, why }
}

const fn to_writers(places: &'static [&'static str], why: &'static str) -> Row {
    Row { places, reach: Reach::Whole, to: Access::Write, why }
}

const TOKENS: &str = "a program keeps tokens or passwords there";
pub(super) const KEYS: &str = "it holds private keys";
const CLOUD: &str = "it holds credentials of a cloud or a cluster";
const BROWSER: &str = "it holds a browser's cookies and passwords";
pub(super) const KEYRING: &str = "it holds a keyring or a password store";
const WALLET: &str = "it holds a wallet";
const AI: &str = "an AI client keeps its own settings, credentials and conversations there";
const CHATS: &str = "it holds the sessions of a messenger";
const RUNS: &str =
    "it holds programs that run by themselves, or whenever a shell or another program looks for one";
const SHELL: &str = "a shell runs what is in it at its start";
const DESKTOP: &str = "the desktop runs what is in it, or what it names, from the next log-in on";
const TERMINAL: &str = "a terminal or a program in it runs what is in it, or what it names, at its start";
const EDITOR: &str = "an editor, an interpreter or another program runs what is in it at its start";
const TOOLS: &str = "a tool of developers runs what is in it, or what it names, in every project";
const MANY: &str = "it holds the settings and data of every program, credentials among them";

/// Places of every home, below it.
#[rustfmt::skip] // places of one kind on few lines
pub const IN_A_HOME: &[Row] = &[
    whole(&[
        ".android", ".cert", ".config/age", ".config/cosign", ".config/minisign", ".config/openvpn",
        ".config/putty", ".config/sops", ".config/step", ".config/wireguard", ".gnupg", ".local/share/mkcert",
        ".minisign", ".openvpn", ".pki", ".putty", ".sigstore", ".ssh", ".step",
        ".config/ssh", ".keychain", ".local/share/gnupg",
    ], KEYS),
    whole(&[
        ".aliyun", ".argocd", ".aws", ".azure", ".b2_account_info", ".bluemix", ".boto", ".cache/helm",
        ".civo.json", ".cloudflared", ".config/aliyun", ".config/argocd", ".config/aws", ".config/azure",
        ".config/azuredevops", ".config/b2", ".config/civo", ".config/cloudflare", ".config/consul",
        ".config/dbt", ".config/doctl", ".config/exoscale", ".config/firebase", ".config/fly",
        ".config/flyctl", ".config/gcloud", ".config/gsutil", ".config/hcloud", ".config/helm",
        ".config/heroku", ".config/infracost", ".config/k3d", ".config/k9s", ".config/kaggle",
        ".config/linode-cli", ".config/neonctl", ".config/ngrok", ".config/nomad", ".config/oci",
        ".config/openstack", ".config/ovh", ".config/packer", ".config/planetscale", ".config/pulumi",
        ".config/railway", ".config/rclone", ".config/rclone-browser", ".config/render", ".config/s3cmd",
        ".config/scw", ".config/snowflake", ".config/supabase", ".config/tailscale", ".config/tofu",
        ".config/turso", ".config/vault", ".config/vultr-cli", ".config/yandex-cloud", ".databricks",
        ".databrickscfg", ".dataproc", ".dbt", ".exoscale", ".firebase", ".fly", ".gsutil", ".helm",
        ".ibmcloud", ".k3d", ".kaggle", ".kind", ".krew", ".kube", ".local/share/helm", ".local/share/heroku",
        ".local/share/tailscale", ".mc", ".minikube", ".ngrok2", ".nhost", ".oci", ".ovh.conf", ".packer.d",
        ".pulumi", ".railway", ".s3cfg", ".sf", ".sfdx", ".snowflake", ".snowsql", ".supabase", ".tccli",
        ".tencentcloud", ".terraform.d", ".terraformrc",
        ".awsvault", ".cf", ".config/coderv2", ".config/incus", ".config/lxc", ".granted", ".rancher", ".steampipe",
        ".tsh",
    ], CLOUD),
    whole(&[
        ".anaconda", ".authinfo", ".authinfo.gpg", ".bundle", ".bunfig.toml", ".cache/huggingface",
        ".cargo/credentials", ".cargo/credentials.toml", ".comet.config", ".composer", ".conda", ".condarc",
        ".config/.jira", ".config/.wrangler", ".config/acli", ".config/attic", ".config/beekeeper-studio",
        ".config/bruno", ".config/cachix", ".config/composer", ".config/conda", ".config/configstore",
        ".config/curlrc", ".config/dbeaver", ".config/doppler", ".config/evolution", ".config/filezilla",
        ".config/freerdp", ".config/gcalcli", ".config/gh", ".config/git", ".config/glab", ".config/glab-cli",
        ".config/goa-1.0", ".config/gogcli", ".config/hatch", ".config/himalaya", ".config/hoppscotch",
        ".config/httpie", ".config/hub", ".config/huggingface", ".config/infisical", ".config/Insomnia",
        ".config/jira", ".config/kdeconnect", ".config/modal", ".config/mongodb", ".config/msmtp",
        ".config/mutt", ".config/neomutt", ".config/netlify", ".config/Nextcloud", ".config/nix",
        ".config/NuGet", ".config/obs-studio", ".config/ownCloud", ".config/pgcli", ".config/pip",
        ".config/pnpm", ".config/Postman", ".config/psql", ".config/pypoetry", ".config/remmina",
        ".config/replicate", ".config/runpod", ".config/rye", ".config/sentry", ".config/spotify",
        ".config/spotify-player", ".config/stripe", ".config/swift-package-manager", ".config/syncthing",
        ".config/tableplus", ".config/tea", ".config/transmission", ".config/twine", ".config/uv",
        ".config/vastai", ".config/wandb", ".config/yarn", ".continuum", ".curlrc", ".dbeaver", ".doppler",
        ".dropbox", ".fetchmailrc", ".filezilla", ".gem/credentials", ".git-credentials",
        ".gradle/gradle.properties", ".httpie", ".huggingface", ".infisical", ".ivy2", ".jira.d",
        ".local/share/atuin", ".local/share/com.vercel.cli", ".local/share/DBeaverData",
        ".local/share/evolution", ".local/share/NuGet", ".local/share/remmina", ".local/share/uv/credentials",
        ".local/state/syncthing", ".m2/settings.xml", ".mbsyncrc", ".mlflow", ".modal.toml", ".mongodb",
        ".mongorc.js", ".msmtprc", ".mutt", ".muttrc", ".my.cnf", ".mylogin.cnf", ".mysql_history", ".netrc",
        ".netrc.gpg", ".npmrc", ".nuget", ".offlineimaprc", ".pg_service.conf", ".pgpass", ".postman",
        ".psql_history", ".pypirc", ".rediscli_history", ".runpod", ".sbt", ".sentryclirc", ".sqlite_history",
        ".vast_api_key", ".vault-token", ".vnc", ".wgetrc", ".wrangler", ".yarnrc", ".yarnrc.yml",
        ".anydesk", ".claws-mail", ".config/Mailspring", ".config/aerc", ".config/borg", ".config/borgmatic",
        ".config/joplin-desktop", ".config/kopia", ".config/restic", ".config/rustdesk", ".config/vdirsyncer",
        ".local/share/Steam", ".local/share/geary", ".minecraft", ".platformio", ".steam", ".vagrant.d",
    ], TOKENS),
    whole(&[
        ".colima", ".config/containers", ".lima", ".local/share/containers", ".local/share/docker",
        ".orbstack", ".rd",
    ], ENGINE),
    whole(&[
        ".cache/BraveSoftware", ".cache/chromium", ".cache/google-chrome", ".cache/microsoft-edge",
        ".cache/mozilla", ".config/BraveSoftware", ".config/chromium", ".config/falkon",
        ".config/google-chrome", ".config/google-chrome-beta", ".config/google-chrome-unstable",
        ".config/microsoft-edge", ".config/microsoft-edge-beta", ".config/microsoft-edge-dev",
        ".config/mozilla", ".config/net.imput.helium", ".config/opera", ".config/qutebrowser",
        ".config/thorium", ".config/vivaldi", ".floorp", ".librewolf", ".local/share/epiphany",
        ".local/share/qutebrowser", ".local/share/torbrowser", ".mozilla", ".tor-browser", ".waterfox", ".zen",
        ".config/opera-beta", ".config/yandex-browser",
    ], BROWSER),
    whole(&[
        ".1password", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/enpass",
        ".config/gopass", ".config/keepassxc", ".config/LastPass", ".config/lpass", ".config/nordpass",
        ".config/op", ".config/Proton Pass", ".config/protonmail", ".config/rbw", ".config/Yubico", ".keepass",
        ".keepassxc", ".local/share/gopass", ".local/share/keyrings", ".local/share/kwalletd",
        ".local/share/lpass", ".local/share/pass", ".local/share/protonmail", ".local/share/rbw", ".lpass",
        ".op", ".password-store", ".yubico",
        ".passage",
    ], KEYRING),
    whole(&[
        ".config/discord", ".config/discordcanary", ".config/discordptb", ".config/Element",
        ".config/Mattermost", ".config/Microsoft", ".config/Rocket.Chat", ".config/Signal",
        ".config/signal-cli", ".config/skypeforlinux", ".config/Slack", ".config/teams",
        ".config/teams-for-linux", ".config/vesktop", ".config/weechat", ".config/WhatsApp",
        ".config/whatsapp-desktop", ".config/Wire", ".config/zoomus.conf", ".irssi", ".local/share/signal-cli",
        ".local/share/TelegramDesktop", ".local/share/weechat", ".purple", ".weechat", ".zoom",
        ".config/Ferdium", ".config/nheko",
    ], CHATS),
    whole(&[
        ".aptos", ".bitcoin", ".bitmonero", ".brownie", ".config/@trezor", ".config/aptos", ".config/atomic",
        ".config/Electrum", ".config/Exodus", ".config/Ledger Live", ".config/solana", ".dash", ".dashcore",
        ".dogecoin", ".electrum", ".electrum-ltc", ".ethereum", ".foundry", ".gnosis", ".lightning",
        ".litecoin", ".lnd", ".monero", ".near-credentials", ".sui", ".zcash",
    ], WALLET),
    whole(&[
        ".aider", ".aider.conf.yml", ".amazonq", ".amp", ".antigravity", ".augment",
        ".cache/claude-cli-nodejs", ".cache/lm-studio", ".claude", ".claude.json", ".cline", ".codebuddy",
        ".codeium", ".codex", ".config/aichat", ".config/aider", ".config/amp", ".config/Antigravity",
        ".config/anythingllm-desktop", ".config/cherrystudio", ".config/CherryStudio", ".config/Claude",
        ".config/claude", ".config/claude-code", ".config/cline", ".config/Code", ".config/Code - Insiders",
        ".config/Code - OSS", ".config/codebuff", ".config/codex", ".config/copilot", ".config/crush",
        ".config/Cursor", ".config/fabric", ".config/gemini", ".config/github-copilot", ".config/goose",
        ".config/io.datasette.llm", ".config/jan", ".config/Jan", ".config/JetBrains", ".config/Kiro",
        ".config/kiro-cli", ".config/llm", ".config/LM Studio", ".config/manicode", ".config/mcp",
        ".config/mods", ".config/open-webui", ".config/opencode", ".config/sgpt", ".config/shell_gpt",
        ".config/TabNine", ".config/Trae", ".config/VSCodium", ".config/warp-terminal", ".config/Windsurf",
        ".config/zed", ".continue", ".copilot", ".crush", ".cursor", ".cursor-server", ".factory", ".gemini",
        ".goose", ".hermes", ".iflow", ".jan", ".junie", ".kilocode", ".kimi", ".kiro", ".llm", ".lmstudio",
        ".local/share/amazon-q", ".local/share/amp", ".local/share/claude", ".local/share/crush",
        ".local/share/goose", ".local/share/JetBrains", ".local/share/kiro-cli", ".local/share/opencode",
        ".local/share/warp-terminal", ".local/share/zed", ".local/state/claude", ".local/state/goose",
        ".local/state/opencode", ".local/state/warp-terminal", ".mcp", ".mcp-auth", ".n8n", ".ollama",
        ".openclaw", ".opencode", ".openhands", ".qoder", ".qodo", ".qwen", ".roo", ".tabnine", ".trae",
        ".void-editor", ".vscode", ".vscode-insiders", ".vscode-oss", ".vscode-remote", ".vscode-server",
        ".vscode-server-insiders", ".warp", ".windsurf", ".windsurf-server", ".zed_server",
        ".agent", ".grok", ".pi", ".rovodev",
    ], AI),
    itself(&[
        ".cache", ".config", ".local", ".local/share", ".local/state",
    ], MANY),
    to_writers(&[
        "anaconda3", "Android", "AppImages", "Applications", ".arkade", ".asdf", "bin", ".bin", ".bun",
        ".cabal", ".cargo", ".deno", ".dotnet", ".dvm", ".elan", ".flutter", "flutter/bin", ".fnm", ".gem",
        ".ghcup", "go/bin", ".go/bin", ".gobrew", ".goenv", ".guix-profile", ".gvm", ".jabba", ".jenv",
        ".julia", ".juliaup", ".kerl", ".linuxbrew", ".local/bin", ".local/lib", ".local/pipx", ".local/sbin",
        ".local/share/aquaproj-aqua", ".local/share/asdf", ".local/share/coursier", ".local/share/flatpak",
        ".local/share/fnm", ".local/share/gem", ".local/share/hatch", ".local/share/mise", ".local/share/npm",
        ".local/share/pipx", ".local/share/pnpm", ".local/share/pypoetry", ".local/share/rakubrew",
        ".local/share/rtx", ".local/share/swiftly", ".local/share/uv", ".local/share/virtualenvs",
        ".local/state/nix", ".luarocks", "mambaforge", "micromamba", "miniconda3", "miniforge3", ".mix", ".n",
        "n/bin", ".nimble", ".nix-profile", ".node_modules", ".nodenv", ".npm", ".npm-global", ".npm-packages",
        ".nvm", ".opam", ".perlbrew", ".phpenv", ".plenv", ".poetry", ".proto", ".pyenv", ".rbenv", ".rubies",
        ".rustup", ".rvm", ".rye", ".sdkman", ".stack", ".swiftly", ".tfenv", ".tgenv", ".virtualenvs",
        ".volta", ".yarn",
        ".arduino15", ".config/nvm", ".local/share/nvm",
    ], RUNS),
    to_writers(&[
        ".antidote", ".antigen", ".bash.d", ".bash_completion.d", ".bash_it", ".bashrc.d", ".config/asdf",
        ".config/bash", ".config/direnv", ".config/elvish", ".config/fish", ".config/mise", ".config/nushell",
        ".config/oh-my-posh", ".config/powershell", ".config/profile.d", ".config/sheldon", ".config/shell",
        ".config/starship", ".config/xonsh", ".config/zsh", ".local/share/bash-completion",
        ".local/share/direnv", ".local/share/fish", ".local/share/sheldon", ".local/share/zinit",
        ".local/share/zsh", ".oh-my-bash", ".oh-my-zsh", ".profile.d", ".zfunc", ".zim", ".zinit", ".zplug",
        ".zprezto", ".zsh", ".zsh.d", ".zshrc.d",
    ], SHELL),
    to_writers(&[
        ".config/ags", ".config/autostart", ".config/autostart-scripts", ".config/awesome", ".config/bspwm",
        ".config/cron", ".config/dconf", ".config/dunst", ".config/environment.d", ".config/eww",
        ".config/herbstluftwm", ".config/hypr", ".config/i3", ".config/i3blocks", ".config/i3status",
        ".config/kanshi", ".config/labwc", ".config/leftwm", ".config/lxqt", ".config/lxsession",
        ".config/niri", ".config/openbox", ".config/picom", ".config/pipewire", ".config/plasma-workspace",
        ".config/polybar", ".config/qtile", ".config/river", ".config/rofi", ".config/sway",
        ".config/swayidle", ".config/sxhkd", ".config/systemd", ".config/waybar", ".config/wayfire",
        ".config/wireplumber", ".config/X11", ".config/xdg-desktop-portal", ".config/xfce4", ".config/xmonad",
        ".fluxbox", ".i3", ".icewm", ".local/share/applications", ".local/share/cinnamon",
        ".local/share/dbus-1", ".local/share/gnome-shell", ".local/share/kio", ".local/share/kservices5",
        ".local/share/kwin", ".local/share/nautilus", ".local/share/nautilus-python", ".local/share/nemo",
        ".local/share/plasma", ".local/share/systemd", ".local/share/thumbnailers", ".xinitrc.d", ".xmonad",
        ".xsession.d",
        ".config/autokey", ".config/conky", ".config/cosmic", ".config/espanso", ".config/gammastep",
        ".config/mako", ".config/quickshell", ".config/redshift", ".config/touchegg", ".config/ulauncher",
        ".config/wlogout", ".config/Thunar", ".local/share/albert",
    ], DESKTOP),
    to_writers(&[
        ".byobu", ".config/alacritty", ".config/byobu", ".config/foot", ".config/ghostty", ".config/gitui",
        ".config/kitty", ".config/lazygit", ".config/lf", ".config/mc", ".config/mpv", ".config/nnn",
        ".config/ranger", ".config/terminator", ".config/tig", ".config/tmux", ".config/tmuxinator",
        ".config/vifm", ".config/wezterm", ".config/yazi", ".config/zellij", ".tmux", ".tmuxinator",
        ".config/calcurse", ".config/hexchat", ".config/newsboat", ".config/task", ".task",
    ], TERMINAL),
    to_writers(&[
        ".atom", ".config/code-server", ".config/doom", ".config/emacs", ".config/geany", ".config/helix",
        ".config/jupyter", ".config/kak", ".config/kate", ".config/lvim", ".config/nvim", ".config/ptpython",
        ".config/python", ".config/sublime-text", ".config/sublime-text-3", ".config/vim", ".doom.d",
        ".eclipse", ".emacs.d", ".ipython", ".jupyter", ".local/share/code-server", ".local/share/jupyter",
        ".local/share/lunarvim", ".local/share/nvim", ".local/state/nvim", ".pulsar", ".spacemacs.d",
        ".SpaceVim", ".SpaceVim.d", ".vim",
        ".config/Google", ".config/lite-xl", ".config/micro", ".local/share/Google", ".textadept", ".config/GIMP",
        ".config/REAPER", ".config/blender", ".config/calibre", ".config/inkscape", ".config/kicad",
        ".config/libreoffice", ".local/share/Anki2", ".local/share/FreeCAD", ".local/share/QGIS",
        ".local/share/kicad", ".local/share/krita", ".nuke", ".zotero",
    ], EDITOR),
    to_writers(&[
        ".ansible", ".cache/pre-commit", ".config/gdb", ".config/hg", ".config/jj", ".config/pre-commit",
        ".gdbinit.d", ".git-hooks", ".git-templates", ".githooks", ".gradle", ".m2",
        ".config/chezmoi", ".config/go", ".config/home-manager", ".config/nixpkgs", ".config/yadm", ".dotfiles",
        ".local/share/chezmoi",
    ], TOOLS),
    whole(&[
        ".bash_history", ".zsh_history",
    ], "it holds the commands you typed"),
    whole(&[
        ".docker",
    ], "it is the container engine's client: its credentials, its sockets"),
    whole(&[
        "Maildir", ".thunderbird",
    ], "it holds mail"),
    whole(&[
        "snap", ".var",
    ], "it holds the data of packaged programs, browsers among them"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_place_is_in_the_table_once_and_not_in_another_row_that_holds_it() {
        let all = || IN_A_HOME.iter().flat_map(|row| row.places.iter().map(move |place| (*place, row)));
        let names: BTreeSet<&str> = all().map(|(place, _)| place).collect();
        assert_eq!(names.len(), all().count());
        for (place, row) in all() {
            let around = all().find(|(other, around)| {
                *other != place
                    && Path::new(place).starts_with(other)
                    && around.reach == Reach::Whole
                    && (around.to == Access::Read || row.to == Access::Write)
            });
            assert!(around.is_none(), "{place} is in {}", around.unwrap().0);
        }
    }
}
