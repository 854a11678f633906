#!/bin/sh
# Puts ISCA Studio into your menu, and the commands isca and isca-gui into ~/.local/bin. The folder itself stays
# where it is: run this again after moving it. `./install.sh --remove` takes all of it away again.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)
data=${XDG_DATA_HOME:-$HOME/.local/share}
bin=$HOME/.local/bin
id=org.isca_studio.isca_studio

(cd "$here/share" && find . -type f) | while read -r file; do
    if [ "${1:-}" = --remove ]; then
        rm -f "$data/$file"
    else
        mkdir -p "$(dirname "$data/$file")"
        cp "$here/share/$file" "$data/$file"
    fi
done
for name in isca isca-gui; do
    if [ "${1:-}" = --remove ]; then
        rm -f "$bin/$name"
    else
        mkdir -p "$bin"
        ln -sf "$here/$name" "$bin/$name"
    fi
done
if [ "${1:-}" != --remove ]; then
    # Menus look for programs in a PATH of their own; and a path may hold spaces and characters with a meaning.
    quoted=$(printf '%s' "$here/isca-gui" | sed 's/[\\"`$]/\\\\&/g; s/%/%%/g; s/[&|\\]/\\&/g')
    sed "s|^Exec=isca-gui|Exec=\"$quoted\"|" "$here/share/applications/$id.desktop" \
        > "$data/applications/$id.desktop"
fi
# Menus and file managers notice at once where these are there, and at the next login where not.
for update in "update-desktop-database $data/applications" "update-mime-database $data/mime"; do
    if command -v "${update%% *}" > /dev/null; then "${update%% *}" "${update#* }" || true; fi
done
